import ArgumentParser

/// `appstore-inbox console`: pages for operators, and how people log in to them.
struct ConsoleCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "console",
        abstract: "Serves pages for operators, and lets people log in to them.",
        discussion: """
            Without APPSTORE_INBOX_CONSOLE_LISTEN there is no console. Exit codes: 0 ended, or the link is printed, 1 the database refused or \
            could not be reached, 2 wrong usage, 78 wrong settings.
            """,
        subcommands: [ConsoleServe.self, ConsoleLogin.self],
        defaultSubcommand: ConsoleServe.self
    )
}
