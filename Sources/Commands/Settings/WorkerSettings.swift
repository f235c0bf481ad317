import AppStore
import AppStoreVerification
import HTTPServing
import Handlers

/// The settings of `appstore-inbox worker`.
struct WorkerSettings: Sendable {
    let database: DatabaseSettings
    /// The apps whose notifications count; at least one.
    let apps: [App]
    /// The environments that count; at least one.
    let environments: Set<AppStoreEnvironment>
    let extraRoots: [ExtraRoot]
    /// Where `/livez`, `/readyz` and `/metrics` answer; nil when they do not.
    let adminListen: ListenAddress?
    /// Batches in flight.
    let concurrency: Int
    /// Events in one batch.
    let batchSize: Int
    let maximumAttempts: Int
    /// What verifyReceipt is asked with.
    let sharedSecrets: SharedSecrets
    /// Whose word a posted receipt needs.
    let verifyReceipt: VerifyReceiptMode
    let verifyReceiptURL: String
    let verifyReceiptSandboxURL: String
    /// PEM files with certificates that are trusted beside the system's when others are asked.
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

    /// What an operator should read in the log at each start.
    var warnings: [String] {
        let roots = extraRoots.filter { $0.environments.contains(.production) }.map { root in
            "\(root.path) is trusted for Production: whoever holds its key can make purchases"
        }
        let outbound = outboundRoots.map { "\($0) is trusted for TLS: whoever holds its key can answer in Apple's place" }
        let known = Set(apps.map(\.bundleID))
        let strangers = sharedSecrets.counts.keys.filter { !known.contains($0) }.sorted().map { bundleID in
            "there are shared secrets of \(bundleID), which is none of the apps"
        }
        return roots + outbound + strangers
    }
}
