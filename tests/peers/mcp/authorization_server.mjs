// An authorization server: node authorization_server.mjs FOLDER-OF-NODE-MODULES SECRET. Prints its address.
// Anybody may sign in; clients register themselves. A resource server introspects tokens with the secret.
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";

const [folder, secret] = process.argv.slice(2);
const { Provider } = await import(pathToFileURL(`${folder}/node_modules/oidc-provider/lib/index.js`));
const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{
      client_id: "resource-server", client_secret: secret, redirect_uris: [], response_types: [], grant_types: [],
    }],
    scopes: ["mcp", "offline_access"],
    features: {
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: () => true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: "mcp", accessTokenFormat: "opaque", accessTokenTTL: 3600 }),
        useGrantedResource: () => true,
      },
    },
    issueRefreshToken: () => true,
  });
  server.on("request", provider.callback());
  console.log(issuer);
});
