// A receiver of webhooks for Node.js 18 or newer, without dependencies.
//   PORT=3000 WEBHOOK_SECRET_FILE=webhook.secret node receiver.mjs
// The file has a line for each secret that is valid: whsec_… (HMAC-SHA256), or whpk_… (ed25519, which only the sender can sign with).
import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const tolerance = 5 * 60; // seconds
const largest = 1024 * 1024; // bytes of a body
const secrets = readFileSync(process.env.WEBHOOK_SECRET_FILE, 'utf8').split('\n').map((line) => line.trim()).filter(Boolean);

// Whether one of the signatures is made with one of the secrets. The body is the bytes as they came, not JSON that was parsed and written again.
function isGenuine(headers, body) {
  const { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures } = headers;
  if (!id || !/^[0-9]+$/.test(timestamp) || !signatures || Math.abs(Date.now() / 1000 - timestamp) > tolerance) return false;
  const content = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), body]);
  return signatures.split(' ').some((item) => {
    const [scheme, text] = item.split(',');
    const signature = Buffer.from(text ?? '', 'base64');
    return secrets.some((secret) => scheme === schemeOf(secret) && isMadeWith(secret, content, signature));
  });
}

const schemeOf = (secret) => (secret.startsWith('whpk_') ? 'v1a' : 'v1');

function isMadeWith(secret, content, signature) {
  const key = Buffer.from(secret.slice(secret.indexOf('_') + 1), 'base64');
  if (secret.startsWith('whpk_')) {
    // The ASN.1 before the 32 bytes of a public key (RFC 8410).
    const der = Buffer.concat([Buffer.from('302a300506032b6570032100', 'hex'), key]);
    return verify(null, content, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature);
  }
  const code = createHmac('sha256', key).update(content).digest();
  return code.length === signature.length && timingSafeEqual(code, signature);
}

// An entry may come twice, and one that failed comes after later ones. So keep, in your database and in one transaction with what you do,
// the id of each entry that you have handled, and for each subject the greatest generation and position.
const handled = new Set();

function handle(event) {
  if (handled.has(event.id)) return;
  console.log(event.type, event.data.user ?? '-', event.data.subject ?? '-', `#${event.position}`);
  handled.add(event.id);
}

const server = createServer(async (request, response) => {
  const parts = [];
  let size = 0;
  try {
    for await (const part of request) {
      size += part.length;
      if (size > largest) return response.writeHead(413).end();
      parts.push(part);
    }
  } catch {
    return response.destroy(); // the request broke off
  }
  const body = Buffer.concat(parts);
  if (!isGenuine(request.headers, body)) return response.writeHead(401).end('the signature is wrong');
  try {
    handle(JSON.parse(body));
    response.writeHead(204).end(); // only now: anything else is sent again
  } catch (error) {
    console.error(error);
    response.writeHead(500).end('not handled');
  }
});
server.listen(process.env.PORT ?? 3000, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}/webhooks`));
