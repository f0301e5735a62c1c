/**
 * Shows a run as it happens in virtual time: on a terminal one screen that is redrawn at an even pace, elsewhere
 * lines as fast as they come.
 */
import type { World } from '../simulator/run/world.ts';
import { changes, sceneText } from './view/scene-text.ts';
import { sceneOf, type Scene } from './view/scene.ts';

/** Virtual time between two looks at a world in which nothing seems to happen. */
const lookEvery = 5_000;
/** So much virtual time is one frame on a terminal: hours take seconds, and a minute can still be followed. */
const frameEvery = 60_000;
const frameMilliseconds = 25;

const clearScreen = '\u001b[H\u001b[2J';

export interface Watcher {
  onStep: (world: World) => void;
  /** Draws the last moment. */
  end: () => void;
}

export function createWatcher(title: string, output: NodeJS.WriteStream): Watcher {
  return output.isTTY ? screenWatcher(title, output) : lineWatcher(output);
}

function lineWatcher(output: NodeJS.WriteStream): Watcher {
  let before: Scene | undefined;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let last: World | undefined;
  const look = (world: World): void => {
    const scene = sceneOf(world);
    for (const line of changes(before, scene)) output.write(`${line}\n`);
    before = scene;
  };
  return {
    onStep(world) {
      last = world;
      const now = world.clock.now().getTime();
      if (now - lookedAt < lookEvery) return;
      lookedAt = now;
      look(world);
    },
    end: () => {
      if (last) look(last);
    },
  };
}

function screenWatcher(title: string, output: NodeJS.WriteStream): Watcher {
  let shownAt = Number.NEGATIVE_INFINITY;
  let last: World | undefined;
  const show = (world: World): void => {
    output.write(`${clearScreen}${sceneText(sceneOf(world), title)}\n`);
  };
  return {
    onStep(world) {
      last = world;
      const now = world.clock.now().getTime();
      if (now - shownAt < frameEvery) return;
      shownAt = now;
      show(world);
      pause(frameMilliseconds);
    },
    end: () => {
      if (last) show(last);
    },
  };
}

/** Timers of this process are virtual during a run, so the pace is kept by waiting where nothing else could go on. */
function pause(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds);
}
