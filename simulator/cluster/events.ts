/**
 * core/v1 Events, deduplicated as Karpenter's recorder does it: by reason and object, for two minutes unless an
 * event says otherwise, whatever the message. The API server keeps Events for an hour.
 */
import type { ClusterEvent } from '../../rollout/ports.ts';
import type { Kind, ObjectMeta } from '../../rollout/kubernetes.ts';
import { stamp } from './names.ts';
import { now, type World } from './types.ts';

const dedupeMs = 2 * 60_000;
const keptMs = 60 * 60_000;

interface Regarding {
  kind: Kind;
  metadata: ObjectMeta;
}

export interface KarpenterEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  about: Regarding;
  /** What makes two events the same beside the reason; the object's UID without. */
  dedupeBy?: string;
  dedupeMs?: number;
}

export class Events {
  readonly #world: World;
  readonly #silentUntil = new Map<string, number>();
  /** Names of Events by what they say of whom: client-go repeats an Event by moving its time. */
  readonly #names = new Map<string, string>();
  #number = 0;
  #sweepAt = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** As Karpenter. */
  publish(event: KarpenterEvent): void {
    const key = `${event.reason}-${event.dedupeBy ?? event.about.metadata.uid}`;
    const at = now(this.#world);
    if ((this.#silentUntil.get(key) ?? 0) > at) return;
    this.#silentUntil.set(key, at + (event.dedupeMs ?? dedupeMs));
    const { kind, metadata } = event.about;
    this.write({ ...event, regarding: { kind, name: metadata.name, uid: metadata.uid } }, 'karpenter');
  }

  /** A process that stops forgets what it said. */
  forget(): void {
    this.#silentUntil.clear();
  }

  write(event: ClusterEvent, component: string): void {
    const { store, clock } = this.#world;
    this.#sweep();
    const key = `${component} ${event.regarding.uid} ${event.type} ${event.reason} ${event.message}`;
    const known = this.#names.get(key);
    const lastTimestamp = stamp(clock.now());
    if (known !== undefined && store.update('Event', known, (current) => ({ ...current, lastTimestamp })))
      return;
    this.#number += 1;
    const name = `${event.regarding.name}.${this.#number.toString(16).padStart(8, '0')}`;
    this.#names.set(key, name);
    store.create('Event', {
      kind: 'Event',
      metadata: { name, namespace: 'default' },
      type: event.type,
      reason: event.reason,
      message: event.message,
      involvedObject: event.regarding,
      lastTimestamp,
      source: { component },
    });
  }

  #sweep(): void {
    const at = now(this.#world);
    if (at < this.#sweepAt) return;
    this.#sweepAt = at + 5 * 60_000;
    const { store } = this.#world;
    const old: string[] = [];
    for (const event of store.all('Event')) {
      if (Date.parse(event.lastTimestamp ?? '') <= at - keptMs) old.push(event.metadata.name);
    }
    for (const name of old) store.remove('Event', name);
    for (const [key, name] of this.#names)
      if (store.get('Event', name) === undefined) this.#names.delete(key);
    for (const [key, until] of this.#silentUntil) if (until <= at) this.#silentUntil.delete(key);
  }
}
