import AppStore
import AppStoreVerification
import HTTPServing
import Logging

/// The settings of `appstore-inbox worker`.
struct WorkerSettings: Sendable {
    let database: DatabaseSettings
    /// Which events count.
    let verification: VerificationSettings
    /// Whether OCSP responders are asked.
    let asksResponders: Bool
    /// The listener of `/livez`, `/readyz` and `/metrics`; nil when it is off.
    let adminListen: ListenAddress?
    /// Batches in flight.
    let concurrency: Int
    /// Events in one batch.
    let batchSize: Int
    let maximumAttempts: Int
    let verifyReceiptURL: String
    let verifyReceiptSandboxURL: String
    /// PEM files with certificates that are trusted in addition to the system's for outbound TLS.
    let outboundRoots: [String]
    let serverAPI: ServerAPISettings
    let reconcile: ReconcileSettings
    /// What webhooks are signed with, and the headers that they have in addition.
    let webhooks: WebhookSettings
    let shutdownTimeout: Duration

    /// - Throws: ``SettingsError`` with everything that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        try reader.requireValid(Settings.worker, and: VerificationSettings.problems(reader) + Self.problems(reader))
        database = try DatabaseSettings(reader)
        verification = try VerificationSettings(reader)
        asksResponders = try reader.required(Settings.ocsp)
        adminListen = try reader.required(Settings.workerAdminListen)
        concurrency = try reader.required(Settings.concurrency)
        batchSize = try reader.required(Settings.batchSize)
        maximumAttempts = try reader.required(Settings.maximumAttempts)
        verifyReceiptURL = try reader.required(Settings.verifyReceiptURL)
        verifyReceiptSandboxURL = try reader.required(Settings.verifyReceiptSandboxURL)
        outboundRoots = try reader.required(Settings.outboundRoots)
        serverAPI = try ServerAPISettings(reader)
        reconcile = try ReconcileSettings(reader)
        webhooks = try WebhookSettings(reader)
        shutdownTimeout = .seconds(try reader.required(Settings.shutdownTimeout))
    }

    /// Files of outbound roots and of headers that cannot be used.
    private static func problems(_ reader: SettingsReader) -> [String] {
        let place = reader.place(of: Settings.outboundRoots)
        let roots = reader.valid(Settings.outboundRoots) ?? []
        return roots.compactMap { path in OutboundRoot.problem(path).map { "\(place): \($0)" } } + WebhookSettings.problems(reader)
    }

    /// Warnings that are logged at each start.
    var warnings: [String] {
        let roots = verification.extraRoots.filter { $0.environments.contains(.production) }.map { root in
            "\(root.path) is trusted for Production: the holder of its key can forge purchases"
        }
        return roots + outboundRoots.map { "\($0) is trusted for outbound TLS: the holder of its key can impersonate Apple" }
    }

    /// What the worker does, for the line of `systemctl status`.
    var work: String { "processing events of \(verification.apps.map(\.bundleID).joined(separator: ", "))" }

    /// What the first line of the log says of the settings.
    var summary: Logger.Metadata {
        let apps = verification.apps.map { app in app.appAppleID.map { "\(app.bundleID):\($0)" } ?? app.bundleID }
        return [
            "apps": "\(apps.joined(separator: ", "))",
            "environments": "\(verification.environments.map(\.rawValue).sorted().joined(separator: ", "))",
            "roots": "\(verification.rootNames.joined(separator: ", "))", "worker.concurrency": "\(concurrency)",
        ]
    }
}
