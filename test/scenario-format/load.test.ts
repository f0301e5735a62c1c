import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { loadScenario, ScenarioError } from '../../simulator/scenario/load.ts';

/** The problems of a scenario, or none. */
function problems(text: string): readonly string[] {
  try {
    loadScenario(text, 'x.yaml');
    return [];
  } catch (error) {
    if (error instanceof ScenarioError) return error.problems;
    throw error;
  }
}

const head = 'name: x\nrunFor: 1h\n';

describe('what a scenario says', () => {
  it('fills in every default', () => {
    const scenario = loadScenario(head, 'x.yaml');
    expect(scenario).toMatchObject({
      rack: 'demo',
      registered: true,
      seed: 1,
      startsAt: '2026-03-02T09:00:00.000Z',
      runFor: 3_600_000,
      classes: {
        build: { httpTokens: 'required', httpPutResponseHopLimit: 1, httpEndpoint: 'enabled', owners: [] },
      },
      pools: {
        build: { class: 'build', limits: { cpu: null }, budgets: [{ nodes: '10%' }], consolidateAfter: null },
      },
      nodes: [],
      timeline: [],
      faults: [],
      karpenter: {
        launch: 45_000,
        register: 30_000,
        initialize: 20_000,
        capacity: { kind: 'ok' },
        classReady: 2_000,
      },
      ec2: {
        modifyBucket: { capacity: 100, refillPerSecond: 5, strangers: 0 },
        applyDelay: 2_000,
        readStaleness: 0,
        metrics: 'sparse',
      },
      account: { httpTokensEnforced: false },
    });
    expect(scenario).not.toHaveProperty('expect');
  });

  it('reads the default scenario', () => {
    const scenario = loadScenario(readFileSync('test/scenarios/default.yaml', 'utf8'), 'default.yaml');
    expect(scenario.nodes.map((node) => node.name)).toEqual([
      ...['idle-1', 'idle-2', 'busy-4m', 'busy-12m', 'busy-25m', 'busy-40m', 'busy-3h', 'blocked'],
      ...['workload-1', 'workload-2', 'workload-3'],
    ]);
    expect(scenario.nodes[6]).toMatchObject({
      httpTokens: 'optional',
      httpPutResponseHopLimit: 3,
      builds: [{ name: 'build-monorepo', startsAt: -600_000, runsFor: 10_800_000, cpu: 1, usesImds: 'none' }],
    });
    expect(scenario.pools['workload']?.consolidateAfter).toBeNull();
    expect(scenario.timeline.map((entry) => entry.action.kind)).toEqual(['set', 'build', 'build']);
  });

  it('repeats nodes and names them, their Builds and pods too', () => {
    const scenario = loadScenario(
      `${head}nodes:
  - {pool: build, count: 2, builds: [{name: b, runsFor: 1h}]}
  - {name: big, pool: build, count: 2}
  - {pool: build}`,
      'x.yaml',
    );
    expect(scenario.nodes.map((node) => node.name)).toEqual([
      'build-1',
      'build-2',
      'big-1',
      'big-2',
      'build-3',
    ]);
    expect(scenario.nodes.flatMap((node) => node.builds.map((build) => build.name))).toEqual(['b-1', 'b-2']);
  });

  it('plays the timeline in the order of time, then of the file', () => {
    const scenario = loadScenario(
      `${head}timeline:
  - {at: 2m60s, event: late:2m}
  - {at: 5m, unset: [a]}
  - {at: 3m, set: {a: b, c: {value: d, type: SecureString}}}
  - {at: 1m, karpenter: {stop: 10m}}
  - {at: 2m, karpenter: {upgradeHashVersion: true}}`,
      'x.yaml',
    );
    expect(scenario.timeline).toEqual([
      { at: 60_000, action: { kind: 'stopKarpenter', for: 600_000 } },
      { at: 120_000, action: { kind: 'upgradeHashVersion' } },
      { at: 180_000, action: { kind: 'event', fate: 'late', by: 120_000 } },
      {
        at: 180_000,
        action: {
          kind: 'set',
          parameters: { a: { value: 'b', type: 'String' }, c: { value: 'd', type: 'SecureString' } },
        },
      },
      { at: 300_000, action: { kind: 'unset', keys: ['a'] } },
    ]);
  });
});

describe('what is wrong with a scenario', () => {
  it('names the first errors of a file that is no YAML, and counts the rest', () => {
    const said = problems('- a: b: c\n'.repeat(9));
    expect(said).toHaveLength(6);
    expect(said.at(-1)).toMatch(/^x\.yaml: \d+ more of that kind: is it a scenario\?$/);
  });

  it('says where the YAML breaks', () => {
    expect(problems('name: x\nnodes: [\n')[0]).toMatch(/^x\.yaml:3:1: /);
    expect(problems('name: x\nname: y\nrunFor: 1h\n')[0]).toBe(
      'x.yaml:2:1: name is written twice in one mapping',
    );
    expect(problems('name: x\n---\nname: y\n')).toEqual([
      'x.yaml:2:1: a second document begins here (---); a scenario is one',
    ]);
    const aliases = ['b', 'c', 'd', 'e', 'f', 'g', 'h'].map(
      (name, index) => `${name}: &${name} [${`*${'abcdefg'[index] ?? ''},`.repeat(9)}]`,
    );
    expect(problems(`a: &a [1]\n${aliases.join('\n')}`)[0]).toMatch(/^x\.yaml:1:1: .*alias/);
    expect(problems('- 1')).toEqual(['x.yaml:1:1: a scenario is a mapping with at least name and runFor']);
  });

  it('takes a parameter of the rack’s own, and refuses one that is nearly a known one', () => {
    const of = (key: string): readonly string[] =>
      problems(`name: x\nrunFor: 1h\nparameters: {${key}: any}\ntimeline: [{at: 1m, unset: [${key}]}]\n`);
    expect(of('node_type')).toEqual([]);
    expect(of('imds_rollout_windw')).toEqual([]);
    expect(of('karpenter_build_imds_token')).toEqual([
      'x.yaml:3:14: parameters.karpenter_build_imds_token: no parameter of this service; did you mean karpenter_build_imds_tokens?',
      'x.yaml:4:29: timeline[0].unset[0]: no parameter of this service; did you mean karpenter_build_imds_tokens?',
    ]);
  });

  it('refuses an expectation that no result has', () => {
    const of = (expected: string): readonly string[] =>
      problems(`name: x\nrunFor: 1h\nexpect: {${expected}}\n`);
    expect(of('outcome: Succeeded')).toEqual([]);
    expect(of('reason: succeeded')).toEqual([]);
    expect(of('outcome: succeeded')).toEqual([
      expect.stringMatching(
        /^x\.yaml:3:10: expect\.outcome: "succeeded" is never there \(did you mean Succeeded\?\); accepted: /,
      ),
    ]);
    expect(of('rollouts: [{outcome: failed}]')).toHaveLength(1);
    expect(of('instances: [{endedBy: none}]')).toHaveLength(1);
  });

  it('names every problem, in the order of the file', () => {
    expect(problems('runFor: 1x\nsed: 2\nnodes: [{pool: build, httpTokens: requierd}]')).toEqual([
      'x.yaml:1:1: name: is missing; accepted: a name',
      'x.yaml:1:1: runFor: "1x" is not accepted; accepted: a duration such as 90s, 15m, 2h or 1d',
      expect.stringMatching(/^x\.yaml:2:1: sed: unknown key \(did you mean seed\?\); accepted: name, rack, /),
      'x.yaml:3:23: nodes[0].httpTokens: "requierd" is not accepted; accepted: optional, required (did you mean required?)',
    ]);
  });

  const quote = 'accepted: a string (parameter values are text, so quote it)';
  it.each([
    ['parameters: {a: 3}', `3:14: parameters.a: 3 is not accepted; ${quote}`],
    ['parameters: {a: true}', `3:14: parameters.a: true is not accepted; ${quote}`],
    ['timeline: [{at: 1m, set: {a: 1}}]', `3:27: timeline[0].set.a: 1 is not accepted; ${quote}`],
    [
      'parameters: {a: ""}',
      '3:14: parameters.a: "" is not accepted; accepted: a string that is not empty (to delete a parameter, use unset)',
    ],
    [
      'parameters: {a: {value: b, type: Secret}}',
      '3:28: parameters.a.type: "Secret" is not accepted; accepted: String, StringList, SecureString',
    ],
    [
      'pools: {build: {class: bild}}',
      '3:17: pools.build.class: there is no class bild (did you mean build?); there is build',
    ],
    [
      'nodes: [{pool: build, count: 100000}]',
      '3:23: nodes[0].count: 100000 is not accepted; accepted: a whole number from 1 to 5000',
    ],
    [
      'pools: {build: {budgets: [{nodes: ten}]}}',
      '3:28: pools.build.budgets[0].nodes: "ten" is not accepted; accepted: a count or a percentage such as "10%"',
    ],
    ['nodes: [{pool: other}]', '3:10: nodes[0].pool: there is no pool other; there is build'],
    [
      'nodes: [{pool: build, cpu: 1, builds: [{name: a, runsFor: 1m}, {name: b, runsFor: 1m}]}]',
      '3:31: nodes[0].builds: the pods ask for 2 cpu at once and the node has 1',
    ],
    [
      'nodes: [{pool: build, builds: [{name: a, runsFor: 1m, startsAt: -1m}]}]',
      '3:32: nodes[0].builds[0]: a has ended before the scenario starts',
    ],
    [
      'nodes: [{pool: build, name: n}, {pool: build, name: n}]',
      '3:33: nodes[1]: n is the name of another node already',
    ],
    [
      'nodes: [{pool: build, builds: [{name: a, runsFor: 1m}]}]\ntimeline: [{at: 1m, build: {name: a, runsFor: 1m}}]',
      '4:21: timeline[0].build: a is the name of another Build or pod already',
    ],
    [
      'timeline: [{at: 2h, unset: [a]}]',
      '3:13: timeline[0].at: 2h is after runFor (1h) and would never be played',
    ],
    [
      'timeline: [{at: 1m, removeNode: n}]',
      '3:21: timeline[0].removeNode: there is no node n; there is none',
    ],
    [
      'timeline: [{at: 1m, modifyInstance: {node: n, hopLimit: 1}}]',
      '3:38: timeline[0].modifyInstance.node: there is no node n; there is none',
    ],
    [
      'timeline: [{at: 1m, editClass: {class: biuld, httpTokens: optional}}]',
      '3:33: timeline[0].editClass.class: there is no class biuld (did you mean build?); there is build',
    ],
    [
      'timeline: [{at: 1m, editClass: {class: build, manager: helm}}]',
      '3:21: timeline[0].editClass: changes nothing: give at least one of httpTokens, httpPutResponseHopLimit, httpEndpoint',
    ],
    [
      'timeline: [{at: 1m, command: pause}]',
      '3:21: timeline[0].command: pause is not available yet: retry, approve, reject can be played so far',
    ],
    [
      'timeline: [{at: 1m}]',
      '3:12: timeline[0]: the entry does nothing: write at and exactly one action; entries may have the same at',
    ],
    [
      'timeline: [{at: 1m, unset: [a], stopExecution: true}]',
      '3:12: timeline[0]: unset and stopExecution are in one entry: write at and exactly one action; entries may have the same at',
    ],
    [
      'timeline: [{at: 1m, event: lost}]',
      '3:21: timeline[0].event: no set or unset follows whose events this could be about',
    ],
    [
      'timeline: [{at: 1m, karpenter: {}}]',
      '3:21: timeline[0].karpenter: give either {stop: 10m} or {upgradeHashVersion: true}',
    ],
    [
      'faults: [{api: "ec2:DescribeInstances"}]',
      '3:10: faults[0]: does nothing: give an error, a latency or both',
    ],
    [
      'expect: {outcom: Succeeded}',
      expect.stringMatching(
        /^3:10: expect\.outcom: the result has no such key \(did you mean outcome\?\); accepted: outcome, reason, /,
      ),
    ],
  ])('%s', (line, message) => {
    expect(problems(`${head}${line}\n`).map((problem) => problem.replace('x.yaml:', ''))).toEqual([message]);
  });

  it('refuses keys that no result has, at any depth', () => {
    expect(
      problems(`${head}expect: {builds: [{name: b, outcom: finished}], classes: {build: {owner: x}}}`),
    ).toEqual([
      expect.stringMatching(/^x\.yaml:3:29: expect\.builds\[0\]\.outcom: .*did you mean outcome\?/),
      expect.stringMatching(/^x\.yaml:3:67: expect\.classes\.build\.owner: .*did you mean owners\?/),
    ]);
    expect(problems(`${head}expect: {calls: {"ec2:DescribeInstances": {errors: 0}}, notices: []}`)).toEqual(
      [],
    );
  });

  it('refuses functions and APIs that it does not know', () => {
    const found = problems(
      `${head}timeline: [{at: 1m, crash: {function: obsrve, when: before}}]\nfaults: [{api: "ec2:Descr", error: X}]`,
    );
    expect(found[0]).toMatch(
      /crash\.function: "obsrve" is not accepted; accepted: .*\(did you mean observe\?\)$/,
    );
    expect(found[1]).toMatch(/faults\[0\]\.api: "ec2:Descr" is not accepted/);
    expect(problems(`${head}faults: [{api: "kubernetes:*", error: ServiceUnavailable}]`)).toEqual([]);
  });

  it.each(['0s', '31d'])('refuses to run for %s', (runFor) => {
    expect(problems(`name: x\nrunFor: ${runFor}`)[0]).toMatch(
      /runFor: .* accepted: more than 0s and at most 30d$/,
    );
  });

  it.each(['5', '1.5h', '1h30m', '-1h', ' 1h', '1 h', '1H'])('refuses the duration %s', (text) => {
    expect(problems(`name: x\nrunFor: "${text}"`)).toHaveLength(1);
  });
});
