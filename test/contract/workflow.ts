/** What every Workflow does, whoever runs the executions. */
import { describe, expect, it } from 'vitest';
import type { Workflow } from '../../rollout/ports.ts';

export interface WorkflowSubject extends AsyncDisposable {
  /** Of a state machine whose executions wait for hours. */
  port: Workflow;
  /** StopExecution, by hand. */
  stop(name: string): Promise<void>;
}

export interface AnsweredSubject extends AsyncDisposable {
  port: Workflow;
  /** Starts an execution that waits for its token to come back, and gives the token. */
  wait(name: string): Promise<string>;
  /** StopExecution, by hand. */
  stop(name: string): Promise<void>;
}

/** What every Workflow does with the answers to its waits. */
export function describeAnswers(name: string, make: () => Promise<AnsweredSubject>): void {
  describe(`Workflow.answer: ${name}`, () => {
    const answer = { decision: 'approved', by: 'ada' };

    it('ends a wait once, and says afterwards with what', async () => {
      await using subject = await make();
      const { port } = subject;
      const token = await subject.wait('demo-1');
      expect(await port.answers('demo-1')).toEqual([]);
      expect(await port.answer(token, answer)).toBe('answered');
      expect(await port.answer(token, { decision: 'rejected' })).toBe('gone');
      expect(await port.answers('demo-1')).toEqual([answer]);
    });

    it('ends no wait of another execution', async () => {
      await using subject = await make();
      const { port } = subject;
      const [one, other] = [await subject.wait('demo-1'), await subject.wait('demo-2')];
      await port.answer(one, answer);
      expect(await port.answers('demo-2')).toEqual([]);
      expect(await port.answer(other, { by: 'bob' })).toBe('answered');
      expect(await port.answers('demo-2')).toEqual([{ by: 'bob' }]);
    });

    it('ends nothing where the execution has ended', async () => {
      await using subject = await make();
      const token = await subject.wait('demo-1');
      await subject.stop('demo-1');
      expect(await subject.port.answer(token, answer)).toBe('gone');
      expect(await subject.port.answers('demo-1')).toEqual([]);
    });

    it('knows of no answer of what never was', async () => {
      await using subject = await make();
      expect(await subject.port.answers('demo-1')).toEqual([]);
    });

    it('refuses what is no token, and does not repeat it', async () => {
      await using subject = await make();
      const refused = subject.port.answer('no-token-of-ours', answer);
      await expect(refused).rejects.toThrow(expect.objectContaining({ name: 'InvalidError' }));
      await expect(refused).rejects.toThrow(/^(?!.*no-token-of-ours)/s);
    });
  });
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
