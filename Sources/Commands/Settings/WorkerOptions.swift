import ArgumentParser

/// The options that only `appstore-inbox worker` has.
struct WorkerOptions: SettingsOptions {
    @Option(help: Settings.apps.description.help) private var apps: String?
    @Option(help: Settings.environments.description.help) private var environments: String?
    @Option(help: Settings.extraRoots.description.help) private var extraRoots: String?
    @Option(help: Settings.workerAdminListen.description.help) private var workerAdminListen: String?
    @Option(help: Settings.concurrency.description.help) private var concurrency: String?
    @Option(help: Settings.batchSize.description.help) private var batchSize: String?
    @Option(help: Settings.maximumAttempts.description.help) private var maxAttempts: String?
    @Option(help: Settings.verifyReceipt.description.help) private var verifyReceipt: String?
    @Option(help: Settings.verifyReceiptURL.description.help) private var verifyReceiptURL: String?
    @Option(help: Settings.verifyReceiptSandboxURL.description.help) private var verifyReceiptSandboxURL: String?
    @Option(help: Settings.outboundRoots.description.help) private var outboundRoots: String?
    @OptionGroup private var secrets: SharedSecretsOptions

    init() {}

    var flags: [String: String] {
        Self.collect([
            "apps": apps, "environments": environments, "extra-roots": extraRoots, "worker-admin-listen": workerAdminListen,
            "concurrency": concurrency, "batch-size": batchSize, "max-attempts": maxAttempts, "verify-receipt": verifyReceipt,
            "verify-receipt-url": verifyReceiptURL, "verify-receipt-sandbox-url": verifyReceiptSandboxURL,
            "outbound-roots": outboundRoots,
        ]).merging(secrets.flags) { $1 }
    }
}
