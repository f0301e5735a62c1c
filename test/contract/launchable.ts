/** What an EC2NodeClass needs besides its metadata options, so that Karpenter's CRD takes it. */
export const launchable = {
  role: 'karpenter-nodes',
  amiSelectorTerms: [{ alias: 'al2023@latest' }],
  subnetSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'demo' } }],
  securityGroupSelectorTerms: [{ tags: { 'karpenter.sh/discovery': 'demo' } }],
};
