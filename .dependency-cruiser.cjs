// The rooms of the house and who may enter which. Read by scripts/check-rooms.ts.
const rooms = '^(rollout|adapters|functions|simulator|cli|statemachine)/';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      severity: 'error',
      comment: 'A module that nobody imports and that imports nothing is forgotten.',
      from: {
        orphan: true,
        pathNot: ['^(test|scripts|bench)/', '/handler\\.ts$', '^cli/main\\.ts$', '\\.d\\.ts$'],
      },
      to: {},
    },
    {
      name: 'unresolvable',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'rollout-is-pure',
      severity: 'error',
      comment: 'The domain works on ports; it knows no cloud, no cluster, no disk and no clock of its own.',
      from: { path: '^rollout/' },
      to: {
        pathNot: ['^rollout/', '^node_modules/(zod|fastest-levenshtein|p-map)/', '^(node:)?crypto$'],
      },
    },
    {
      name: 'adapters-know-only-the-domain',
      severity: 'error',
      from: { path: '^adapters/' },
      to: { path: rooms, pathNot: '^(adapters|rollout)/' },
    },
    {
      name: 'simulator-never-real-neighbours',
      severity: 'error',
      comment: 'It runs the real handlers and the real workflow, on ports in memory.',
      from: { path: '^simulator/' },
      to: { path: rooms, pathNot: '^(simulator|rollout|functions|statemachine)/' },
    },
    {
      name: 'simulator-runs-handlers-unwired',
      severity: 'error',
      comment: 'handler.ts brings the real adapters; create-handler.ts takes any.',
      from: { path: '^simulator/' },
      to: { path: '^functions/.*/handler\\.ts$' },
    },
    {
      name: 'functions-stay-on-ports',
      severity: 'error',
      from: { path: '^functions/', pathNot: '/handler\\.ts$' },
      to: { path: rooms, pathNot: '^(functions|rollout)/' },
    },
    {
      name: 'handlers-wire-adapters',
      severity: 'error',
      from: { path: '^functions/.*/handler\\.ts$' },
      to: { path: rooms, pathNot: '^(functions|rollout|adapters)/' },
    },
    {
      name: 'product-needs-no-workshop',
      severity: 'error',
      comment: 'What is shipped imports neither tests nor scripts.',
      from: { path: rooms },
      to: { path: '^(test|scripts|bench)/' },
    },
    {
      name: 'product-needs-no-dev-dependency',
      severity: 'error',
      from: { path: rooms },
      to: {
        dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'],
        dependencyTypesNot: ['type-only'],
        pathNot: '^node_modules/@types/',
      },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
