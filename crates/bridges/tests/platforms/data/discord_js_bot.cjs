// A bot on discord.js, which is not ours, that uses what our adapter uses. Arguments: discord.js' module, the address of
// Discord, the token. It says what it sees of errors in the chat, so that the test sees it too.
const { ActionRowBuilder, AttachmentBuilder, ButtonBuilder, ButtonStyle, Client, DiscordAPIError, Events, GatewayIntentBits, MessageFlags, Partials, Routes } =
  require(process.argv[2]);
const { Guilds, GuildMessages, DirectMessages, MessageContent } = GatewayIntentBits;
const client = new Client({
  intents: [Guilds, GuildMessages, DirectMessages, MessageContent],
  partials: [Partials.Channel],
  rest: { api: `${process.argv[3]}/api` },
});

const refused = async (what) => {
  try {
    await what();
    return "taken";
  } catch (error) {
    if (error instanceof DiscordAPIError) return `${error.status} ${error.code}`;
    throw error;
  }
};

client.on(Events.ClientReady, async () => {
  await client.application.commands.set([{ name: "status", description: "How it stands" }]);
});

client.on(Events.MessageCreate, async (message) => {
  if (message.author.id === client.user.id) return;
  if (message.channel.isDMBased()) return message.channel.send(`in private: ${message.content}`);
  if (message.attachments.size > 0) {
    const response = await fetch(message.attachments.first().url);
    const file = new AttachmentBuilder(Buffer.from(`back: ${await response.text()}`), { name: "back.txt" });
    return message.channel.send({ files: [file] });
  }
  if (!message.mentions.has(client.user)) return;
  await message.react("👀");
  const thread = await message.startThread({ name: "A thread" });
  const twice = await refused(() => client.rest.post(Routes.threads(message.channelId, message.id), { body: { name: "again" } }));
  const row = new ActionRowBuilder().addComponents(
    new ButtonBuilder().setCustomId("p:1:0").setLabel("Allow").setStyle(ButtonStyle.Success),
    new ButtonBuilder().setCustomId("p:1:1").setLabel("Deny").setStyle(ButtonStyle.Danger),
  );
  const once = await thread.send({ content: "@everyone, may I?", components: [row], nonce: "n1", enforceNonce: true, allowedMentions: { parse: [] } });
  const again = await thread.send({ content: "@everyone, may I?", components: [row], nonce: "n1", enforceNonce: true, allowedMentions: { parse: [] } });
  await thread.send(`thread ${twice}, nonce ${once.id === again.id}, parent ${thread.parentId === message.channelId}`);
});

client.on(Events.InteractionCreate, async (interaction) => {
  if (interaction.isChatInputCommand()) return interaction.reply({ content: "well", flags: MessageFlags.Ephemeral });
  await interaction.deferUpdate();
  await interaction.followUp({ content: `you pressed ${interaction.customId}`, flags: MessageFlags.Ephemeral });
  await interaction.message.edit({ content: "Answered.", components: [] });
  const { id, token, channel } = interaction;
  const acknowledged = await refused(() => client.rest.post(Routes.interactionCallback(id, token), { body: { type: 6 } }));
  const unknown = await refused(() => client.rest.post(Routes.interactionCallback("1", token), { body: { type: 6 } }));
  const gone = await refused(() => client.rest.patch(Routes.channelMessage(channel.id, "1"), { body: { content: "x" } }));
  const nowhere = await refused(() => client.rest.post(Routes.channelMessages("1"), { body: { content: "x" } }));
  const long = await refused(() => client.rest.post(Routes.channelMessages(channel.id), { body: { content: "x".repeat(2001) } }));
  const fetched = await channel.messages.fetch({ after: "0", limit: 100 });
  await channel.send([acknowledged, unknown, gone, nowhere, long, `${fetched.size} messages`].join("\n"));
});

client.login(process.argv[4]);
