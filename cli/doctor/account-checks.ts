/** What a rollout needs of the account. */
import { decide } from '../../rollout/desired.ts';
import { inWords, owned } from '../../rollout/options.ts';
import type { Deployment } from '../deployment.ts';
import { check, ok, problem, unknown, type Check } from './check.ts';

export const accountChecks = (deployment: Deployment): Promise<Check>[] => {
  const { stack, region, ports, outputs } = deployment;
  return [
    check('credentials', async () => ok(await deployment.identity())),
    check('deployment', () => ok(`stack ${stack} in ${region}`)),
    check('registrations', async () => {
      const racks = await ports.records.registrations();
      return racks.length > 0
        ? ok(racks.map(({ rack }) => rack).join(', '))
        : problem('no rack is registered', 'Register one: imds-rollout rack add RACK --cluster CLUSTER');
    }),
    check('workflow', async () => {
      const running = await ports.workflow.running();
      return ok(`${String(running.length)} executions run`);
    }),
    check('reports', async () => {
      await ports.reports.list('nothing/');
      return ok(`s3://${outputs.ReportBucket} can be read`);
    }),
  ];
};

export const rackChecks = ({ ports }: Pick<Deployment, 'ports'>, rack: string): Promise<Check>[] => [
  check('parameters', async () => {
    const decision = decide(await ports.parameters.list(rack), false);
    switch (decision.kind) {
      case 'asks':
        return ok([`they ask for ${inWords(decision.ask)}`, ...decision.notices].join('; '));
      case 'inert':
        return ok(`they ask for nothing: ${decision.why}`);
      case 'asksNothing':
        return ok('they ask for nothing');
      case 'refused':
        return problem(decision.refusals.join('; '), 'Set accepted values: imds-rollout params set');
    }
  }),
  check('account defaults', async () => {
    const { httpTokensEnforced, managedBy } = await ports.instances.accountDefaults();
    if (!httpTokensEnforced) return ok('HttpTokensEnforced is off');
    const decision = decide(await ports.parameters.list(rack), false);
    const asksOptional = decision.kind === 'asks' && decision.ask.httpTokens === 'optional';
    const by = managedBy === 'declarative-policy' ? 'an organisation policy' : 'the account';
    return asksOptional
      ? problem(
          `${by} enforces HttpTokens=required (HttpTokensEnforced), the parameters ask for optional`,
          'Ask for required, or have the enforcement lifted',
        )
      : ok(`${by} enforces HttpTokens=required, as far as new values go: optional would be refused`);
  }),
  check('record', async () => {
    const { last, holdsMayExist, baseline } = await ports.records.read(rack);
    const owns = owned(baseline);
    const words = [
      last === undefined ? 'no rollout yet' : `the last rollout ended ${last.outcome}`,
      owns.length === 0 ? 'nothing is owned' : `owned: ${owns.join(', ')}`,
      ...(holdsMayExist ? ['holds may exist'] : []),
    ].join('; ');
    return last?.outcome === 'Failed' || last?.outcome === 'RolledBack'
      ? unknown(`${words}: ${last.reason}`, `Solve the reason, then: imds-rollout retry -r ${rack}`)
      : ok(words);
  }),
];
