/**
 * What each function calls, read from the sources: from its create-handler.ts through everything that it can reach in
 * functions/ and rollout/ to the methods of the ports, and from there through adapters/ to the AWS SDK's commands.
 * What no function reaches needs no permission, also where its adapter is in the bundle.
 */
import { globSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import ts from 'typescript';

export interface Calls {
  /** IAM actions, e.g. `ssm:GetParameter`. */
  actions: ReadonlySet<string>;
  /** What it does at the clusters' API servers. */
  cluster: 'nothing' | 'reads' | 'writes';
}

const PORTS = 'rollout/ports.ts';

/** IAM's prefixes of the SDK's packages. */
const services: Record<string, string> = {
  '@aws-sdk/client-cloudwatch': 'cloudwatch',
  '@aws-sdk/client-ec2': 'ec2',
  '@aws-sdk/client-eks': 'eks',
  '@aws-sdk/client-eventbridge': 'events',
  '@aws-sdk/client-s3': 's3',
  '@aws-sdk/client-sfn': 'states',
  '@aws-sdk/client-ssm': 'ssm',
};

/** Where IAM's action is not the API's name, or one call needs more. */
const actionsOf: Record<string, string[]> = {
  's3:ListObjectsV2': ['s3:ListBucket'],
  // Who may not list hears AccessDenied of an object that is not there.
  's3:GetObject': ['s3:GetObject', 's3:ListBucket'],
};

let scanned: ReadonlyMap<string, Calls> | undefined;

/** By function (folder name), in order. Read once in a process: the types of the SDK take seconds. */
export const scan = (): ReadonlyMap<string, Calls> => (scanned ??= readSources());

function readSources(): Map<string, Calls> {
  const handlers = globSync('functions/*/create-handler.ts').sort();
  const program = ts.createProgram(
    [...handlers, ...globSync('adapters/**/*.ts')],
    ts.parseJsonConfigFileContent(
      ts.readConfigFile('tsconfig.json', (path) => readFileSync(path, 'utf8')).config,
      ts.sys,
      '.',
    ).options,
  );
  const reader = new Reader(program);
  const adapters = reader.adapters();
  return new Map(
    handlers.map((file) => {
      const methods = reader.portMethods(file);
      const actions = [...methods].flatMap((method) => [...(adapters.get(method) ?? [])]);
      return [
        file.split(/[\\/]/)[1] ?? '',
        { actions: new Set(actions.sort()), cluster: clusterUse(methods) },
      ];
    }),
  );
}

const clusterUse = (methods: ReadonlySet<string>): Calls['cluster'] =>
  methods.has('Cluster.patch') || methods.has('Cluster.emit')
    ? 'writes'
    : methods.has('Cluster.get') || methods.has('Cluster.list')
      ? 'reads'
      : 'nothing';

class Reader {
  readonly #program: ts.Program;
  readonly #checker: ts.TypeChecker;

  constructor(program: ts.Program) {
    this.#program = program;
    this.#checker = program.getTypeChecker();
  }

  /** `Port.method` for each that can be reached from a file. */
  portMethods(file: string): Set<string> {
    const found = new Set<string>();
    const source = this.#program.getSourceFile(file);
    if (source === undefined) throw new Error(`${file} is not there`);
    this.#reach(source, (declaration) => {
      const where = pathOf(declaration);
      if (where !== PORTS) return where.startsWith('rollout/') || where.startsWith('functions/');
      if (ts.isMethodSignature(declaration) && ts.isInterfaceDeclaration(declaration.parent)) {
        found.add(`${declaration.parent.name.text}.${declaration.name.getText()}`);
      }
      return false;
    });
    return found;
  }

  /** The IAM actions of each `Port.method`, from whatever in adapters/ makes such a port. */
  adapters(): Map<string, Set<string>> {
    const actions = new Map<string, Set<string>>();
    for (const source of this.#program.getSourceFiles()) {
      if (!pathOf(source).startsWith('adapters/')) continue;
      const visit = (node: ts.Node): void => {
        if (ts.isObjectLiteralExpression(node)) {
          const port = this.#portOf(node);
          for (const member of port === undefined ? [] : node.properties) {
            const method = `${String(port)}.${member.name?.getText() ?? ''}`;
            actions.set(method, new Set([...(actions.get(method) ?? []), ...this.#actions(member)]));
          }
        }
        ts.forEachChild(node, visit);
      };
      visit(source);
    }
    return actions;
  }

  #portOf(literal: ts.ObjectLiteralExpression): string | undefined {
    const declaration = this.#checker.getContextualType(literal)?.getSymbol()?.declarations?.[0];
    if (declaration === undefined || !ts.isInterfaceDeclaration(declaration)) return undefined;
    return pathOf(declaration) === PORTS ? declaration.name.text : undefined;
  }

  #actions(member: ts.Node): Set<string> {
    const found = new Set<string>();
    this.#reach(member, (declaration, name) => {
      const sdk = /node_modules\/(@aws-sdk\/client-[\w-]+)\//.exec(pathOf(declaration))?.[1];
      if (sdk === undefined) return pathOf(declaration).startsWith('adapters/');
      const operation = /^paginate(\w+)$/.exec(name)?.[1] ?? /^(\w+)Command$/.exec(name)?.[1];
      const service = services[sdk];
      if (service === undefined) throw new Error(`IAM's prefix for ${sdk} is missing here`);
      const call = `${service}:${operation ?? ''}`;
      if (operation !== undefined) for (const action of actionsOf[call] ?? [call]) found.add(action);
      return false;
    });
    return found;
  }

  /** Visits every declaration that is named below `from`, and below each that `enter` says yes to. */
  #reach(from: ts.Node, enter: (declaration: ts.Declaration, name: string) => boolean): void {
    const seen = new Set<ts.Node>();
    const visit = (node: ts.Node): void => {
      if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node)) return;
      if (ts.isIdentifier(node)) {
        for (const declaration of this.#declarations(node)) {
          if (seen.has(declaration)) continue;
          seen.add(declaration);
          if (enter(declaration, node.text)) visit(declaration);
        }
      }
      ts.forEachChild(node, visit);
    };
    visit(from);
  }

  #declarations(node: ts.Identifier): readonly ts.Declaration[] {
    const shorthand = ts.isShorthandPropertyAssignment(node.parent)
      ? this.#checker.getShorthandAssignmentValueSymbol(node.parent)
      : undefined;
    const symbol = shorthand ?? this.#checker.getSymbolAtLocation(node);
    if (symbol === undefined) return [];
    const target = symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol;
    return target.declarations ?? [];
  }
}

const pathOf = (node: ts.Node): string => relative('.', node.getSourceFile().fileName).replaceAll('\\', '/');
