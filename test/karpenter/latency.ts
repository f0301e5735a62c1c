/** A network between the functions and what they call: everything on one machine answers at once. */
import type { Cluster, Ports } from '../../rollout/ports.ts';

/** Every call of every port takes so many milliseconds longer; the clock is asked of nobody. */
export function behindANetwork({ clock, clusters, ...others }: Ports, latencyMs: number): Ports {
  const slower = <T extends object>(port: T): T =>
    new Proxy(port, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]): Promise<unknown> => {
          await new Promise((resolve) => setTimeout(resolve, latencyMs));
          return Reflect.apply(value, target, args) as unknown;
        };
      },
    });
  const connecting = slower(clusters);
  const slowed = Object.fromEntries(Object.entries(others).map(([name, port]) => [name, slower(port)]));
  return {
    ...(slowed as typeof others),
    clock,
    clusters: { connect: async (name): Promise<Cluster> => slower(await connecting.connect(name)) },
  };
}
