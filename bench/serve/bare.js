/** A fastify route that does nothing but send a fixed XML: what the service is measured beside. Argument: file. */
import { readFileSync } from "node:fs";
import Fastify from "fastify";

const xml = readFileSync(process.argv[2] ?? "", "utf8");
const app = Fastify();
app.get("/v1/market/quotes.xml", (_request, reply) =>
  reply.header("Content-Type", "application/xml; charset=UTF-8").send(xml),
);
console.log(`listening on ${await app.listen({ host: "127.0.0.1", port: 0 })}`);
