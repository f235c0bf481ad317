import AppStore
import AppStoreVerification
import HTTPServing
import Interpretation

/// The settings of `appstore-inbox worker`.
struct WorkerSettings: Sendable {
    let database: DatabaseSettings
    /// The apps whose notifications are processed; at least one.
    let apps: [App]
    /// The environments that are processed; at least one.
    let environments: Set<AppStoreEnvironment>
    let extraRoots: [ExtraRoot]
    /// The listener of `/livez`, `/readyz` and `/metrics`; nil when it is off.
    let adminListen: ListenAddress?
    /// Batches in flight.
    let concurrency: Int
    /// Events in one batch.
    let batchSize: Int
    let maximumAttempts: Int
    /// The secrets that are sent to verifyReceipt.
    let sharedSecrets: SharedSecrets
    /// Whether posted receipts are sent to verifyReceipt.
    let verifyReceipt: VerifyReceiptMode
    let verifyReceiptURL: String
    let verifyReceiptSandboxURL: String
    /// PEM files with certificates that are trusted in addition to the system's for outbound TLS.
    let outboundRoots: [String]
    let shutdownTimeout: Duration

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.worker)
        database = try DatabaseSettings(reader)
        apps = try reader.required(Settings.apps)
        environments = try reader.required(Settings.environments)
        extraRoots = try reader.required(Settings.extraRoots)
        adminListen = try reader.required(Settings.workerAdminListen)
        concurrency = try reader.required(Settings.concurrency)
        batchSize = try reader.required(Settings.batchSize)
        maximumAttempts = try reader.required(Settings.maximumAttempts)
        sharedSecrets = try reader.sharedSecrets()?.secrets ?? SharedSecrets()
        verifyReceipt = try reader.required(Settings.verifyReceipt)
        verifyReceiptURL = try reader.required(Settings.verifyReceiptURL)
        verifyReceiptSandboxURL = try reader.required(Settings.verifyReceiptSandboxURL)
        outboundRoots = try reader.required(Settings.outboundRoots)
        for path in outboundRoots { try OutboundRoot.check(path) }
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
    }

    /// Warnings that are logged at each start.
    var warnings: [String] {
        let roots = extraRoots.filter { $0.environments.contains(.production) }.map { root in
            "\(root.path) is trusted for Production: the holder of its key can forge purchases"
        }
        let outbound = outboundRoots.map { "\($0) is trusted for outbound TLS: the holder of its key can impersonate Apple" }
        let known = Set(apps.map(\.bundleID))
        let unknownApps = sharedSecrets.counts.keys.filter { !known.contains($0) }.sorted().map { bundleID in
            "there are shared secrets of \(bundleID), which is not one of the apps"
        }
        return roots + outbound + unknownApps
    }
}
