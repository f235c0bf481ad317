import ArgumentParser

/// The options that only `appstore-inbox console` has.
struct ConsoleOptions: SettingsOptions {
    @OptionGroup private var address: ConsoleAddressOptions
    @Option(help: Settings.consoleReadOnly.description.help, completion: .list(["on", "off"])) private var consoleReadOnly: String?
    @Option(help: Settings.consoleTrustedHeader.description.help) private var consoleTrustedHeader: String?
    @Option(help: Settings.consoleUsersFile.description.help, completion: .file()) private var consoleUsersFile: String?
    @Option(help: Settings.consoleAdminListen.description.help) private var consoleAdminListen: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "console-read-only": consoleReadOnly, "console-trusted-header": consoleTrustedHeader, "console-users-file": consoleUsersFile,
            "console-admin-listen": consoleAdminListen,
        ]).merging(address.flags) { $1 }
    }
}

/// Where the console is, for the daemon and for links to it.
struct ConsoleAddressOptions: SettingsOptions {
    @Option(help: Settings.consoleListen.description.help) private var consoleListen: String?
    @Option(help: Settings.consoleOrigin.description.help) private var consoleOrigin: String?

    init() {}

    var flags: [String: String] { Self.collect(["console-listen": consoleListen, "console-origin": consoleOrigin]) }
}
