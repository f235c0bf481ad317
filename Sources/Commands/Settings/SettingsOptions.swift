import ArgumentParser
import FoundationEssentials
import Interpretation
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

/// The options that only `appstore-inbox worker` has.
struct WorkerOptions: SettingsOptions {
    @OptionGroup private var verification: VerificationOptions
    @OptionGroup private var webhookSecret: WebhookSecretOptions
    @Option(help: Settings.ocsp.description.help) private var ocsp: String?
    @Option(help: Settings.workerAdminListen.description.help) private var workerAdminListen: String?
    @Option(help: Settings.concurrency.description.help) private var concurrency: String?
    @Option(help: Settings.batchSize.description.help) private var batchSize: String?
    @Option(help: Settings.maximumAttempts.description.help) private var maxAttempts: String?
    @Option(help: Settings.verifyReceiptURL.description.help) private var verifyReceiptURL: String?
    @Option(help: Settings.verifyReceiptSandboxURL.description.help) private var verifyReceiptSandboxURL: String?
    @Option(help: Settings.outboundRoots.description.help, completion: .file()) private var outboundRoots: String?
    @OptionGroup private var serverAPI: ServerAPIOptions
    @Option(help: Settings.reconcile.description.help, completion: .values(of: ReconcileMode.self)) private var reconcile: String?
    @Option(help: Settings.reconcileSample.description.help) private var reconcileSample: String?
    @Option(help: Settings.webhookHeadersDirectory.description.help, completion: .directory) private var webhookHeadersDirectory: String?
    @Option(help: Settings.outboundNetworks.description.help) private var outboundNetworks: String?
    @Option(help: Settings.outboundProxy.description.help) private var outboundProxy: String?
    @Option(help: Settings.outboundProxyFile.description.help, completion: .file()) private var outboundProxyFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "ocsp": ocsp, "worker-admin-listen": workerAdminListen, "concurrency": concurrency, "batch-size": batchSize,
            "max-attempts": maxAttempts,
            "verify-receipt-url": verifyReceiptURL, "verify-receipt-sandbox-url": verifyReceiptSandboxURL,
            "reconcile": reconcile, "reconcile-sample": reconcileSample, "outbound-roots": outboundRoots,
            "webhook-headers-directory": webhookHeadersDirectory,
            "outbound-networks": outboundNetworks, "outbound-proxy": outboundProxy, "outbound-proxy-file": outboundProxyFile,
        ]).merging(verification.flags) { $1 }.merging(webhookSecret.flags) { $1 }.merging(serverAPI.flags) { $1 }
    }
}

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

/// The options that decide which events count, for the worker and `explain`.
struct VerificationOptions: SettingsOptions {
    @Option(help: Settings.apps.description.help) private var apps: String?
    @Option(help: Settings.environments.description.help, completion: .environments) private var environments: String?
    @Option(help: Settings.extraRoots.description.help, completion: .file()) private var extraRoots: String?
    @Option(help: Settings.verifyReceipt.description.help, completion: .values(of: VerifyReceiptMode.self)) private var verifyReceipt:
        String?
    @OptionGroup private var secrets: SharedSecretsOptions

    init() {}

    var flags: [String: String] {
        Self.collect([
            "apps": apps, "environments": environments, "extra-roots": extraRoots, "verify-receipt": verifyReceipt,
        ]).merging(secrets.flags) { $1 }
    }
}

/// `--shared-secrets-directory`, `--shared-secrets`, `--shared-secrets-file`, for both daemons.
struct SharedSecretsOptions: SettingsOptions {
    @Option(help: Settings.sharedSecretsDirectory.description.help, completion: .directory) private var sharedSecretsDirectory: String?
    @Option(help: Settings.sharedSecrets.description.help) private var sharedSecrets: String?
    @Option(help: Settings.sharedSecretsFile.description.help, completion: .file()) private var sharedSecretsFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "shared-secrets-directory": sharedSecretsDirectory, "shared-secrets": sharedSecrets, "shared-secrets-file": sharedSecretsFile,
        ])
    }
}

/// The options for Apple's App Store Server API, for the worker and `doctor`.
struct ServerAPIOptions: SettingsOptions {
    @Option(help: Settings.apiKeysDirectory.description.help, completion: .directory) private var apiKeysDirectory: String?
    @Option(help: Settings.apiIssuers.description.help) private var apiIssuers: String?
    @Option(help: Settings.apiProductionURL.description.help) private var apiProductionURL: String?
    @Option(help: Settings.apiSandboxURL.description.help) private var apiSandboxURL: String?
    @Option(help: Settings.apiBudget.description.help) private var apiBudget: String?

    @Option(help: Settings.apiImportRequests.description.help) private var apiImportRequests: String?

    init() {}

    var flags: [String: String] {
        Self.collect([
            "api-keys-directory": apiKeysDirectory, "api-issuers": apiIssuers, "api-production-url": apiProductionURL,
            "api-sandbox-url": apiSandboxURL, "api-budget": apiBudget, "api-import-requests": apiImportRequests,
        ])
    }
}

/// `--webhook-secret`, `--webhook-secret-file`, for the worker and the commands for endpoints.
struct WebhookSecretOptions: SettingsOptions {
    @Option(help: Settings.webhookSecret.description.help) private var webhookSecret: String?
    @Option(help: Settings.webhookSecretFile.description.help, completion: .file()) private var webhookSecretFile: String?

    init() {}

    var flags: [String: String] {
        Self.collect(["webhook-secret": webhookSecret, "webhook-secret-file": webhookSecretFile])
    }
}
