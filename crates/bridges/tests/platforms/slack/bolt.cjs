// A small app made with Slack's own Bolt: it asks when it is mentioned, and does what is pressed.
// Arguments: the module of Bolt, the address of the API. The tokens are in the environment.

const { App, LogLevel } = require(process.argv[2]);

const app = new App({
  token: process.env.BOT_TOKEN,
  appToken: process.env.APP_TOKEN,
  socketMode: true,
  logLevel: LogLevel.WARN,
  clientOptions: { slackApiUrl: process.argv[3] },
});

app.event('app_mention', async ({ event, client }) => {
  const button = (action_id, text, style) => ({
    type: 'button', action_id, style, value: `p:bolt:${action_id}`, text: { type: 'plain_text', text },
  });
  await client.chat.postMessage({
    channel: event.channel,
    thread_ts: event.ts,
    text: 'May I?',
    blocks: [
      { type: 'section', text: { type: 'mrkdwn', text: '*May I?*' } },
      { type: 'actions', elements: [button('allow', 'Allow', 'primary'), button('deny', 'Deny', 'danger')] },
    ],
  });
});

app.action('allow', async ({ ack, action, body, client, respond }) => {
  await ack();
  await client.chat.update({
    channel: body.channel.id,
    ts: body.message.ts,
    text: `Allowed by ${body.user.id} with ${action.value}`,
    blocks: [],
  });
  await client.reactions.add({ channel: body.channel.id, timestamp: body.message.ts, name: 'white_check_mark' });
  await respond({ response_type: 'ephemeral', replace_original: false, text: 'It is done.' });
});

app.message('who is there', async ({ message, client }) => {
  const page = await client.conversations.history({ channel: message.channel, limit: 1 });
  await client.chat.postMessage({ channel: message.channel, text: `I read ${page.messages.length}` });
});

app.command('/countersign', async ({ ack, command, client }) => {
  await ack();
  await client.chat.postEphemeral({ channel: command.channel_id, user: command.user_id, text: `You said ${command.text}` });
});

app.start();
