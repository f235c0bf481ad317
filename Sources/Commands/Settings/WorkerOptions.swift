import ArgumentParser

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
