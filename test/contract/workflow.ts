/** What every Workflow does, whoever runs the executions. */
import { describe, expect, it } from 'vitest';
import type { Workflow } from '../../rollout/ports.ts';

export interface WorkflowSubject extends AsyncDisposable {
  /** Of a state machine whose executions wait for hours. */
  port: Workflow;
  /** StopExecution, by hand. */
  stop(name: string): Promise<void>;
}

export function describeWorkflow(name: string, make: () => Promise<WorkflowSubject>): void {
  describe(`Workflow: ${name}`, () => {
    it('runs what it started, and says since when', async () => {
      await using subject = await make();
      const { port } = subject;
      expect(await port.start('demo-1', 'demo')).toBe('started');
      expect(await port.start('demo-2', 'demo')).toBe('started');
      const running = await port.running();
      expect(running.map((execution) => execution.name).sort()).toEqual(['demo-1', 'demo-2']);
      expect(running).toContainEqual({
        name: 'demo-1',
        startedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        status: 'RUNNING',
      });
      expect(await port.describe('demo-1')).toEqual(running.find((execution) => execution.name === 'demo-1'));
    });

    it('starts one execution, however often it is asked for the same', async () => {
      await using subject = await make();
      await subject.port.start('demo-1', 'demo');
      expect(await subject.port.start('demo-1', 'demo')).toBe('started');
      expect(await subject.port.running()).toHaveLength(1);
    });

    it('starts none under the name of another', async () => {
      await using subject = await make();
      await subject.port.start('demo-1', 'demo');
      expect(await subject.port.start('demo-1', 'other')).toBe('closed');
    });

    it('starts none under the name of one that ended', async () => {
      await using subject = await make();
      const { port } = subject;
      await port.start('demo-1', 'demo');
      await subject.stop('demo-1');
      expect(await port.describe('demo-1')).toMatchObject({ status: 'ABORTED' });
      expect(await port.running()).toEqual([]);
      expect(await port.start('demo-1', 'demo')).toBe('closed');
      expect(await port.running()).toEqual([]);
    });

    it('knows nothing of what never was', async () => {
      await using subject = await make();
      expect(await subject.port.describe('demo-1')).toBeUndefined();
      expect(await subject.port.running()).toEqual([]);
    });

    it('refuses names that Step Functions refuses', async () => {
      await using subject = await make();
      for (const bad of ['with space', 'x'.repeat(81)]) {
        await expect(subject.port.start(bad, 'demo')).rejects.toThrow(
          expect.objectContaining({ name: 'InvalidError' }),
        );
      }
    });
  });
}
