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

interface Said {
  silentUntil: number;
  message: string;
  /** The Event object: client-go repeats an equal Event by moving its time. */
  name: string;
}

export class Events {
  readonly #world: World;
  /** By reason, then by what makes two events the same. */
  readonly #said = new Map<string, Map<string, Said>>();
  #number = 0;
  #sweepAt = 0;

  constructor(world: World) {
    this.#world = world;
  }

  /** As Karpenter. */
  publish(event: KarpenterEvent): void {
    const { kind, metadata } = event.about;
    const key = event.dedupeBy ?? metadata.uid;
    const at = now(this.#world);
    let ofReason = this.#said.get(event.reason);
    if (ofReason === undefined) this.#said.set(event.reason, (ofReason = new Map<string, Said>()));
    const before = ofReason.get(key);
    if (before !== undefined && before.silentUntil > at) return;
    const silentUntil = at + (event.dedupeMs ?? dedupeMs);
    const { message } = event;
    const { store, clock } = this.#world;
    if (before?.message === message && store.repeatEvent(before.name, stamp(clock.now()))) {
      before.silentUntil = silentUntil;
      return;
    }
    const regarding = { kind, name: metadata.name, uid: metadata.uid };
    const said = { type: event.type, reason: event.reason, message, regarding };
    const name = this.write(said, 'karpenter', metadata.namespace);
    ofReason.set(key, { silentUntil, message, name });
  }

  /** A process that stops forgets what it said. */
  forget(): void {
    this.#said.clear();
  }

  /** Returns the Event's name. It lives where its object does; those of cluster-scoped objects live in `default`. */
  write(event: ClusterEvent, component: string, namespace = 'default'): string {
    const { store, clock } = this.#world;
    this.#sweep();
    this.#number += 1;
    const name = `${event.regarding.name}.${this.#number.toString(16).padStart(8, '0')}`;
    store.create('Event', {
      kind: 'Event',
      metadata: { name, namespace },
      type: event.type,
      reason: event.reason,
      message: event.message,
      involvedObject: event.regarding,
      lastTimestamp: stamp(clock.now()),
      source: { component },
    });
    return name;
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
    for (const said of this.#said.values()) {
      for (const [key, { silentUntil }] of said) if (silentUntil <= at - keptMs) said.delete(key);
    }
  }
}
