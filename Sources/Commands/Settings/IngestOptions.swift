import ArgumentParser

/// The options that only `appstore-inbox ingest` has.
struct IngestOptions: SettingsOptions {
    @Option(help: Settings.listen.description.help) private var listen: String?
    @Option(help: Settings.adminListen.description.help) private var adminListen: String?
    @Option(help: Settings.apiListen.description.help) private var apiListen: String?
    @Option(help: Settings.apiDatabaseURL.description.help) private var apiDatabaseURL: String?
    @Option(help: Settings.apiDatabaseURLFile.description.help, completion: .file()) private var apiDatabaseURLFile: String?
    @Option(help: Settings.apiStandbyURL.description.help) private var apiStandbyURL: String?
    @Option(help: Settings.apiStandbyURLFile.description.help, completion: .file()) private var apiStandbyURLFile: String?
    @Option(help: Settings.bodyLimit.description.help) private var bodyLimit: String?
    @Option(help: Settings.memoryLimit.description.help) private var memoryLimit: String?
    @Option(help: Settings.connectionLimit.description.help) private var connectionLimit: String?
    @Option(help: Settings.requestTimeout.description.help) private var requestTimeout: String?
    @Option(help: Settings.hourlyByteLimit.description.help) private var hourlyByteLimit: String?
    @Option(help: Settings.legacyBodyLimit.description.help) private var legacyBodyLimit: String?
    @OptionGroup private var secrets: SharedSecretsOptions

    init() {}

    var flags: [String: String] {
        Self.collect([
            "listen": listen, "admin-listen": adminListen, "api-listen": apiListen, "api-database-url": apiDatabaseURL,
            "api-database-url-file": apiDatabaseURLFile, "api-standby-url": apiStandbyURL, "api-standby-url-file": apiStandbyURLFile,
            "body-limit": bodyLimit, "memory-limit": memoryLimit,
            "connection-limit": connectionLimit, "request-timeout": requestTimeout, "hourly-byte-limit": hourlyByteLimit,
            "legacy-body-limit": legacyBodyLimit,
        ]).merging(secrets.flags) { $1 }
    }
}
