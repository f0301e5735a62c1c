/** A certificate authority of the test's own, and a server certificate for 127.0.0.1 that it signed. */
import { generate } from 'selfsigned';

export interface Authority {
  /** As EKS gives it: PEM, base64-encoded. */
  certificateAuthority: string;
  server: { key: string; cert: string };
}

export async function createAuthority(name: string): Promise<Authority> {
  const ca = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  });
  const server = await generate([{ name: 'commonName', value: 'kube-apiserver' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: 'basicConstraints', cA: false },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
    ],
  });
  return {
    certificateAuthority: Buffer.from(ca.cert).toString('base64'),
    server: { key: server.private, cert: server.cert },
  };
}
