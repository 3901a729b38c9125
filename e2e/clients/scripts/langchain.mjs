// LangChain.js with its OpenAI chat model.
import assert from 'node:assert/strict';
import { HumanMessage, SystemMessage, AIMessage, ToolMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { z } from 'zod';
import { answered, apiKey, baseURL, failing, large, pictureURL, pixel, run, small, talk, tooLong, unknown } from './cases.mjs';

const chat = (model = large, more = {}) => new ChatOpenAI({ model, apiKey, configuration: { baseURL }, maxRetries: 2, useResponsesApi: false, ...more });
const bare = (model = large, more = {}) => chat(model, { maxRetries: 0, ...more });
const client = chat();
const tide = tool(({ harbour }) => `${harbour} high`, { name: 'tide', description: 'The tide at a harbour', schema: z.object({ harbour: z.string() }) });
const bothTides = 'The results are call_rostock=Rostock high and call_bergen=Bergen high.';

const seenOf = (m) => ({ content: m.content, usage: m.usage_metadata, metadata: m.response_metadata, id: m.id });

async function refused(model, input, expected) {
  const error = await failing(() => model.invoke(input));
  const { name, status, code, type, param } = error;
  for (const [key, value] of Object.entries(expected)) assert.equal(error[key], value, `${key} of ${error}`);
  return { said: `${name} ${code ?? ''}`.trim(), seen: { status, code, type, param, kind: error.lc_error_code } };
}

async function streamed(model, input) {
  let whole, text = '', chunks = 0;
  for await (const chunk of await model.stream(input)) {
    whole = whole ? whole.concat(chunk) : chunk;
    text += chunk.content;
    chunks++;
  }
  return { whole, text, chunks };
}

// both runs the tools that were asked for and answers with their results.
async function both(model, first) {
  assert.deepEqual(first.tool_calls.map((c) => c.args.harbour), ['Rostock', 'Bergen']);
  const results = await Promise.all(first.tool_calls.map(async (c) => new ToolMessage({ tool_call_id: c.id, content: await tide.invoke(c.args) })));
  const asked = new AIMessage({ content: first.content, tool_calls: first.tool_calls });
  const second = await model.invoke([new HumanMessage('@tools'), asked, ...results]);
  assert.equal(second.content, bothTides);
  return { said: 'two calls, answer', seen: { calls: first.tool_calls, second: seenOf(second) } };
}

await run({
  plain: async (name) => {
    const got = await client.invoke(`@${name}`);
    return answered(got.content, seenOf(got));
  },
  stream: async (name) => {
    const { whole, text, chunks } = await streamed(client, `@${name}`);
    assert.equal(whole.usage_metadata.output_tokens, 9);
    return answered(text, { chunks, usage: whole.usage_metadata });
  },
  tools: async () => {
    const model = client.bindTools([tide]);
    return both(model, await model.invoke('@tools'));
  },
  'tools-stream': async () => {
    const model = client.bindTools([tide]);
    return both(model, (await streamed(model, '@tools')).whole);
  },
  schema: async () => {
    const model = client.withStructuredOutput(z.object({ harbour: z.string(), berths: z.number() }), { name: 'harbour', method: 'jsonSchema' });
    const parsed = await model.invoke('@schema');
    assert.deepEqual(parsed, { harbour: 'Rostock', berths: 7 });
    return { said: 'parsed object', seen: parsed };
  },
  image: async () => {
    const content = [{ type: 'text', text: '@image' }, { type: 'image_url', image_url: { url: pixel } }, { type: 'image_url', image_url: { url: pictureURL } }];
    const { content: text } = await client.invoke([new HumanMessage({ content })]);
    assert.equal(text, `I see data of ${pixel.length} bytes and https of ${pictureURL.length} bytes.`);
    return { said: 'both images seen', seen: text };
  },
  reasoning: async () => {
    const model = chat(large, { reasoning: { effort: 'low' } });
    const got = await model.invoke('@reasoning');
    return answered(got.content, { more: got.additional_kwargs });
  },
  cancel: async (name) => {
    const controller = new AbortController();
    let text = '';
    const error = await failing(async () => {
      for await (const chunk of await client.stream(`@${name}`, { signal: controller.signal })) {
        text += chunk.content;
        if (text === 'one two ') controller.abort();
      }
    });
    assert.match(String(error), /abort/i);
    return { said: 'left in mid-stream', seen: text };
  },
  timeout: async (name) => {
    const error = await failing(() => bare(large, { timeout: 1000 }).invoke(`@${name}`));
    assert.match(`${error.name} ${error.message}`, /time/i);
    return { said: error.name, seen: error.message };
  },
  'retry-429': async (name) => answered((await client.invoke(`@${name}`)).content),
  'retry-500': async (name) => answered((await client.invoke(`@${name}`)).content),
  'retry-reset': async (name) => answered((await client.invoke(`@${name}`)).content),
  'error-401': (name) => refused(bare(), `@${name}`, { status: 401, code: 'invalid_api_key' }),
  'error-404': (name) => refused(bare(), `@${name}`, { status: 404, code: 'model_not_found', param: 'model' }),
  'error-429': (name) => refused(bare(), `@${name}`, { status: 429, code: 'rate_limit_exceeded' }),
  'error-400': (name) => refused(bare(), `@${name}`, { status: 400, code: 'invalid_value', param: 'temperature' }),
  'error-reset': async (name) => {
    const error = await failing(() => bare().invoke(`@${name}`));
    return { said: `${error.constructor.name} ${error.status ?? ''} ${error.code ?? ''}`.trim(), seen: {} };
  },
  unfit: tooMuch,
  'unfit-far': tooMuch,
  fold: (name) => folding(small, name, false),
  'fold-stream': (name) => folding(small, name, true),
  'fold-unknown': (name) => folding(unknown, name, false),
  embeddings: async () => {
    const vector = await new OpenAIEmbeddings({ model: 'text-embedding-3-small', apiKey, configuration: { baseURL } }).embedQuery('harbour');
    return { said: 'one vector', seen: vector };
  },
});

function tooMuch(name) {
  return refused(bare(small), tooLong(name), { name: 'ContextOverflowError' });
}

async function folding(model, scenario, stream) {
  const kinds = { system: SystemMessage, user: HumanMessage, assistant: AIMessage };
  const messages = talk(scenario).map((m) => new kinds[m.role](m.content));
  try {
    const text = stream ? (await streamed(bare(model), messages)).text : (await bare(model).invoke(messages)).content;
    assert.equal(text, 'Hello from the model.');
    return { said: 'answer', seen: {} };
  } catch (error) {
    assert.equal(error.name, 'ContextOverflowError', String(error));
    return { said: 'ContextOverflowError', seen: {} };
  }
}
