/**
 * EC2's Query API on the instances that Karpenter's EC2 of its own has written down, for the product's adapter. What
 * was launched and with which options is Karpenter's doing; what is added here are the changes of options, which its
 * EC2 knows nothing of.
 */
import { z } from 'zod';
import type { ApiClient } from '../../adapters/cluster/api-client.ts';

/** Read loosely: it is Go's rendering of EC2's own `Instance`. */
const launchedSchema = z.looseObject({
  InstanceId: z.string(),
  LaunchTime: z.string(),
  State: z.looseObject({ Name: z.string() }),
  Tags: z.array(z.object({ Key: z.string(), Value: z.string() })).default([]),
  MetadataOptions: z.looseObject({
    State: z.string(),
    HttpTokens: z.string(),
    HttpPutResponseHopLimit: z.number(),
    HttpEndpoint: z.string(),
    HttpProtocolIpv6: z.string().optional(),
    InstanceMetadataTags: z.string().optional(),
  }),
});
type Launched = z.infer<typeof launchedSchema>;

const configMaps = z.object({
  items: z.array(
    z.object({ metadata: z.object({ name: z.string() }), data: z.record(z.string(), z.string()).optional() }),
  ),
});

/** EC2 says `pending` for about this long. */
const APPLIED_AFTER_MS = 1_500;
const PAGE = 1000;

interface Modification {
  at: Date;
  instanceId: string;
  options: Record<string, string>;
}

export interface Ec2 {
  /** One call, as its form fields, to XML. Throws an Ec2Error. */
  answer(form: URLSearchParams): Promise<string>;
  /** The truth of now. */
  instances(): Promise<Launched[]>;
  modifications: readonly Modification[];
}

export class Ec2Error extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export function createEc2(api: ApiClient): Ec2 {
  const modifications: Modification[] = [];

  const instances = async (): Promise<Launched[]> => {
    const { items } = configMaps.parse(
      await api({
        verb: 'list',
        resource: 'configmaps',
        method: 'GET',
        path: '/api/v1/namespaces/kube-system/configmaps',
      }),
    );
    return items
      .filter(({ metadata }) => metadata.name.startsWith('kwok-aws-instances-'))
      .flatMap(({ data }) => z.array(launchedSchema).parse(JSON.parse(data?.['instances'] ?? '[]')))
      .map(modified);
  };

  const modified = (launched: Launched): Launched =>
    modifications
      .filter(({ instanceId }) => instanceId === launched.InstanceId)
      .reduce(
        (instance, { at, options }) => ({
          ...instance,
          MetadataOptions: {
            ...instance.MetadataOptions,
            ...options,
            HttpPutResponseHopLimit: Number(
              options['HttpPutResponseHopLimit'] ?? instance.MetadataOptions.HttpPutResponseHopLimit,
            ),
            State: Date.now() - at.getTime() < APPLIED_AFTER_MS ? 'pending' : 'applied',
          },
        }),
        launched,
      );

  const describe = async (form: URLSearchParams): Promise<string> => {
    const filters = [...numbered(form, 'Filter')].map(([prefix]) => ({
      name: form.get(`${prefix}.Name`) ?? '',
      values: [...numbered(form, `${prefix}.Value`)].map(([, value]) => value),
    }));
    const ids = [...numbered(form, 'InstanceId')].map(([, id]) => id);
    const all = await instances();
    const unknown = ids.find((id) => !all.some(({ InstanceId }) => InstanceId === id));
    if (unknown !== undefined)
      throw new Ec2Error('InvalidInstanceID.NotFound', `The instance ID '${unknown}' does not exist`);
    const found = all.filter(
      (instance) =>
        (ids.length === 0 || ids.includes(instance.InstanceId)) &&
        filters.every(({ name, values }) => values.includes(valueOf(instance, name) ?? '\0')),
    );
    const from = Number(form.get('NextToken') ?? 0);
    const to = from + Number(form.get('MaxResults') ?? PAGE);
    const next = to < found.length ? element('nextToken', String(to)) : '';
    const items = found.slice(from, to).map((instance) => `<item>${instanceXml(instance)}</item>`);
    return response(
      'DescribeInstances',
      `<reservationSet>${items.map((item) => `<item><instancesSet>${item}</instancesSet></item>`).join('')}</reservationSet>${next}`,
    );
  };

  const modify = async (form: URLSearchParams): Promise<string> => {
    const instanceId = form.get('InstanceId') ?? '';
    const before = (await instances()).find(({ InstanceId }) => InstanceId === instanceId);
    if (before === undefined)
      throw new Ec2Error('InvalidInstanceID.NotFound', `The instance ID '${instanceId}' does not exist`);
    const options = Object.fromEntries(
      [
        'HttpTokens',
        'HttpPutResponseHopLimit',
        'HttpEndpoint',
        'HttpProtocolIpv6',
        'InstanceMetadataTags',
      ].flatMap((name) => {
        const value = form.get(name);
        return value === null ? [] : [[name, value]];
      }),
    );
    modifications.push({ at: new Date(), instanceId, options });
    const { MetadataOptions } = modified(before);
    return response(
      'ModifyInstanceMetadataOptions',
      element('instanceId', instanceId) +
        `<instanceMetadataOptions>${optionsXml(MetadataOptions)}</instanceMetadataOptions>`,
    );
  };

  return {
    instances,
    modifications,
    answer(form) {
      const action = form.get('Action') ?? '';
      switch (action) {
        case 'DescribeInstances':
          return describe(form);
        case 'ModifyInstanceMetadataOptions':
          return modify(form);
        case 'GetInstanceMetadataDefaults':
          return Promise.resolve(response(action, '<accountLevel/>'));
        default:
          throw new Ec2Error('InvalidAction', `The action ${action} is not valid for this web service.`);
      }
    },
  };
}

/** `Filter.1`, `Filter.2`, … with what each has, in order; of a structure any of its fields. */
function numbered(form: URLSearchParams, name: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of form) {
    const [, prefix] =
      new RegExp(`^(${name.replaceAll('.', String.raw`\.`)}\\.\\d+)(?:\\.|$)`).exec(key) ?? [];
    if (prefix !== undefined && !found.has(prefix)) found.set(prefix, value);
  }
  return found;
}

function valueOf(instance: Launched, filter: string): string | undefined {
  if (filter === 'instance-id') return instance.InstanceId;
  if (filter === 'instance-state-name') return instance.State.Name;
  if (filter.startsWith('tag:')) return instance.Tags.find(({ Key }) => Key === filter.slice(4))?.Value;
  throw new Ec2Error('InvalidParameterValue', `The filter '${filter}' is invalid`);
}

function instanceXml({ InstanceId, LaunchTime, State, Tags, MetadataOptions }: Launched): string {
  const tags = Tags.map(({ Key, Value }) => `<item>${element('key', Key)}${element('value', Value)}</item>`);
  return [
    element('instanceId', InstanceId),
    `<instanceState>${element('name', State.Name)}</instanceState>`,
    element('launchTime', LaunchTime),
    `<tagSet>${tags.join('')}</tagSet>`,
    `<metadataOptions>${optionsXml(MetadataOptions)}</metadataOptions>`,
  ].join('');
}

function optionsXml(options: Launched['MetadataOptions']): string {
  return Object.entries(options)
    .filter(([, value]) => typeof value === 'number' || (typeof value === 'string' && value !== ''))
    .map(([name, value]) => element(name.charAt(0).toLowerCase() + name.slice(1), String(value)))
    .join('');
}

const response = (action: string, content: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><${action}Response xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>0</requestId>${content}</${action}Response>`;

export const errorXml = ({ code, message }: Ec2Error): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error>${element('Code', code)}${element('Message', message)}</Error></Errors><RequestID>0</RequestID></Response>`;

const element = (name: string, text: string): string =>
  `<${name}>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')}</${name}>`;
