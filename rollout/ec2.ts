/** The part of EC2's Instance that a rollout reads, in EC2's words with a lower first letter. */

export type HttpTokens = 'optional' | 'required';

/** MetadataOptions of one instance, all as DescribeInstances shows them. */
export interface MetadataOptions {
  /** `pending` from ModifyInstanceMetadataOptions until the change is in force, then `applied`. */
  state: 'pending' | 'applied';
  httpTokens: HttpTokens;
  httpPutResponseHopLimit: number;
  httpEndpoint: 'enabled' | 'disabled';
  httpProtocolIpv6?: 'enabled' | 'disabled';
  instanceMetadataTags?: 'enabled' | 'disabled';
}

/** What ModifyInstanceMetadataOptions is asked for. All five are always sent: see docs of the instances port. */
export type MetadataOptionsRequest = Omit<MetadataOptions, 'state'>;

export interface Instance {
  instanceId: string;
  state: 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down';
  launchTime: string;
  /** Absent where EC2 did not say. An instance without them is unknown, never right. */
  metadataOptions?: MetadataOptions;
  tags: Record<string, string>;
}

/** GetInstanceMetadataDefaults, per account and Region. */
export interface AccountMetadataDefaults {
  /** Refuses launches and changes that allow IMDSv1 (since 2026-02). */
  httpTokensEnforced: boolean;
  /** `declarative-policy` where only the organisation can change them. */
  managedBy?: 'account' | 'declarative-policy';
}
