import Commands

await AppStoreInbox.run()
