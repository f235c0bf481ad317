import Commands

await Program.run(AppStoreInbox.self)
