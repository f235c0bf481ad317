import ArgumentParser
import FoundationEssentials
import Logging

/// Options of a command that set settings.
protocol SettingsOptions: ParsableArguments {
    /// The text of each given option, by the setting's name.
    var flags: [String: String] { get }
}

extension SettingsOptions {
    static func collect(_ options: KeyValuePairs<String, String?>) -> [String: String] {
        var flags: [String: String] = [:]
        for (name, text) in options { flags[name] = text }
        return flags
    }
}

extension SettingDescription {
    /// The text in `--help`.
    var help: ArgumentHelp {
        let text = fallback.map { $0.isEmpty ? summary : "\(summary) (default: \($0))" } ?? summary
        return ArgumentHelp("\(text)", valueName: value)
    }
}

/// `--database-url`, `--database-url-file`.
struct DatabaseOptions: SettingsOptions {
    @Option(help: Settings.databaseURL.description.help) private var databaseURL: String?
    @Option(help: Settings.databaseURLFile.description.help, completion: .file()) private var databaseURLFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect(["database-url": databaseURL, "database-url-file": databaseURLFile])
    }
}

/// `--config`, `--log-level`, `--log-format`.
struct ServiceOptions: SettingsOptions {
    /// The configuration file.
    @Option(help: "A file with settings: NAME=value lines, or JSON (default: $APPSTORE_INBOX_CONFIG).", completion: .file()) var config:
        String?
    @Option(help: Settings.logLevel.description.help, completion: .values(of: Logger.Level.self)) private var logLevel: String?
    @Option(help: Settings.logFormat.description.help, completion: .values(of: LogSettings.Format.self)) private var logFormat: String?

    init() {}

    var flags: [String: String] {
        Self.collect(["log-level": logLevel, "log-format": logFormat])
    }

    /// The settings of a command, from its options and the environment of the process.
    func reader(_ options: any SettingsOptions...) throws(SettingsError) -> SettingsReader {
        let given = options.reduce(into: flags) { $0.merge($1.flags) { $1 } }
        return try SettingsReader(flags: given, configPath: config, environment: ProcessInfo.processInfo.environment)
    }
}

/// `--check-config`, `--shutdown-timeout`, `--prepared`.
struct DaemonOptions: SettingsOptions {
    /// Whether to check the settings and exit.
    @Flag(help: "Print the effective settings, secrets redacted, or everything that is wrong with them, and end.") var checkConfig = false
    @Option(help: Settings.shutdownTimeout.description.help) private var shutdownTimeout: String?
    @Option(help: Settings.prepared.description.help, completion: .list(["on", "off"])) private var prepared: String?

    init() {}

    var flags: [String: String] {
        Self.collect(["shutdown-timeout": shutdownTimeout, "prepared": prepared])
    }
}
