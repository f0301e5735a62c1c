/** What a command answers from: a moment of a played scenario, or the deployment in an account. */
import type { DecisionAnswer } from '../rollout/decide.ts';
import type { Claim, PlanReads, SharedPorts } from '../rollout/ports.ts';
import type { Deployment, DeploymentOptions } from './deployment.ts';
import { CommandFailure } from './failure.ts';
import type { MomentOptions } from './moment.ts';
import { chooseRack } from './rack/racks.ts';
import type { Scene } from './view/scene.ts';

export type SourceOptions = MomentOptions & DeploymentOptions;

export interface Source {
  rack: string;
  ports: SharedPorts;
  planReads: PlanReads;
  scene: () => Promise<Scene>;
  /** Approves or rejects, in the name of whoever asks. */
  decide: (claim: Claim) => Promise<DecisionAnswer>;
  /** Absent for a scenario, which nobody writes to. */
  deployment?: Deployment;
}

export async function openSource(options: SourceOptions): Promise<Source> {
  if (options.scenario === undefined) return openAccount(options);
  const given = (['stack', 'region', 'profile'] as const).find((name) => options[name] !== undefined);
  if (given !== undefined) {
    throw new CommandFailure(`--${given} is about an account, --scenario about a file: give one of the two`);
  }
  // Each of the two brings as much code as the rest of the command: only the one that is asked is loaded.
  const { decideThen, playToMoment } = await import('./moment.ts');
  const { sceneOf } = await import('./view/scene.ts');
  const { rack, world } = await playToMoment({ ...options, scenario: options.scenario });
  const { account, planReads } = world;
  return {
    rack,
    ports: account.ports,
    planReads,
    scene: () => Promise.resolve(sceneOf(world)),
    decide: (claim) => decideThen(world, claim),
  };
}

/** Only commands that ask an account load what it takes to ask one. */
export async function openDeployment(options: DeploymentOptions): Promise<Deployment> {
  const { findDeployment } = await import('./deployment.ts');
  return findDeployment(options);
}

async function openAccount(options: SourceOptions): Promise<Source> {
  if (options.at !== undefined) {
    throw new CommandFailure('--at is about a moment of a scenario: give --scenario FILE with it');
  }
  const deployment = await openDeployment(options);
  const rack = await chooseRack(deployment, options.rack);
  const { sceneNow } = await import('./account/scene-now.ts');
  return {
    rack,
    ports: deployment.ports,
    planReads: deployment.planReads,
    scene: () => sceneNow(deployment, rack),
    decide: (claim) => deployment.decide(claim),
    deployment,
  };
}
