/** How a rack stands, in words. */
import type { Approval } from '../../rollout/approval.ts';
import type { Decision } from '../../rollout/desired.ts';
import { inWords } from '../../rollout/options.ts';
import type { Options, RolloutRecord } from '../../rollout/record.ts';
import { awaitsText } from './approval.ts';
import type { Scene } from './scene.ts';
import { sceneText } from './scene-text.ts';
import { outcomeInColour } from './style.ts';

export interface Status {
  rack: string;
  asks: { kind: Decision['kind']; ask: Options | null; why: string | null };
  /** The last outcome on record. */
  last: NonNullable<RolloutRecord['last']> | null;
  /** What a rollout of the rack waits for a person's approval of. */
  awaits: NonNullable<Approval['awaiting']> | null;
  holdsMayExist: boolean;
  scene: Scene;
}

export function statusText(status: Status): string {
  const { asks, last } = status;
  const asked = asks.ask === null ? `nothing (${asks.kind}: ${asks.why ?? ''})` : inWords(asks.ask);
  const lines = [
    sceneText(status.scene, `rack ${status.rack}`),
    '',
    `Asked for: ${asked}`,
    last === null
      ? 'Last outcome: none on record'
      : `Last outcome: ${outcomeInColour(last.outcome)} (${last.execution}, ${last.endedAt}): ${last.reason}`,
  ];
  if (status.awaits !== null) lines.push(awaitsText(status.rack, status.awaits));
  return lines.join('\n');
}
