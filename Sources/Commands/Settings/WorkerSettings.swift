import AppStore
import AppStoreVerification
import Feed
import HTTPServing
import Logging
import OpenSSL
import Outbox
import ServerAPI

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

/// The settings for Apple's App Store Server API.
struct ServerAPISettings: Sendable {
    let keys: APIKeys
    let hosts: ServerAPIHosts
    /// The part of Apple's documented limits that is used.
    let share: Double
    /// Of each app and environment.
    let importRequests: Int

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        let environments = try reader.required(Settings.environments)
        let lanes = try reader.required(Settings.apps).flatMap { app in environments.map { CallLane(app.bundleID, $0) } }
        keys = APIKeys(try reader.apiKeys()?.keys ?? [], issuers: try reader.required(Settings.apiIssuers), lanes: Set(lanes))
        hosts = try Self.hosts(reader)
        share = Double(try reader.required(Settings.apiBudget)) / 100
        importRequests = try reader.required(Settings.apiImportRequests)
    }

    private static func hosts(_ reader: SettingsReader) throws(SettingsError) -> ServerAPIHosts {
        var hosts = ServerAPIHosts()
        hosts.production = try reader.required(Settings.apiProductionURL)
        hosts.sandbox = try reader.required(Settings.apiSandboxURL)
        return hosts
    }
}

/// The settings for webhooks.
struct WebhookSettings: Sendable {
    /// What they are signed with; nil delivers none.
    let masters: WebhookMasters?
    let headers: WebhookHeaders
    let networks: NetworkPolicy
    /// Nil for direct connections.
    let proxy: ProxyAddress?
    /// The ports of this program's listeners, as far as the settings name them.
    let ownPorts: Set<Int>

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        masters = try reader.optional(Settings.webhookSecret)
        headers = try reader.webhookHeaders()
        networks = try reader.required(Settings.outboundNetworks)
        proxy = try reader.optional(Settings.outboundProxy)
        // Where no ingest runs beside the worker, its defaults may be another program's.
        let listeners = [Settings.listen, Settings.adminListen, Settings.apiListen].filter(reader.isGiven).map { reader.valid($0) }
        ownPorts = Set((listeners + [reader.valid(Settings.workerAdminListen) ?? nil]).compactMap { $0?.port })
    }

    /// Files of headers that cannot be used.
    fileprivate static func problems(_ reader: SettingsReader) -> [String] {
        do throws(SettingsError) {
            _ = try reader.webhookHeaders()
            return []
        } catch {
            return error.problems
        }
    }
}

/// Which contracts Apple is asked about when they look stale; the raw value is the setting's.
enum ReconcileMode: String, CaseIterable, Sendable {
    case production
    /// Sandbox, too: its contracts can vanish, since testers clear their accounts.
    case all
    case off

    var environments: Set<AppStoreEnvironment> {
        switch self {
        case .production: [.production]
        case .all: [.production, .sandbox]
        case .off: []
        }
    }
}

/// The settings of the reconciliation.
struct ReconcileSettings: Sendable {
    let mode: ReconcileMode
    /// Active contracts of each app a day.
    let sample: Int

    /// - Throws: ``SettingsError`` with the first thing that is wrong.
    init(_ reader: SettingsReader) throws(SettingsError) {
        mode = try reader.required(Settings.reconcile)
        sample = try reader.required(Settings.reconcileSample)
    }
}

extension Settings {
    static let reconcile = Setting(
        "reconcile",
        value: "production|all|off",
        default: "production",
        summary:
            "whether Apple is asked about contracts that look stale, of apps that have a key: those of Production, of Sandbox too, or none",
        parse: SettingValue.choice(ReconcileMode.self)
    )
    static let reconcileSample = Setting(
        "reconcile-sample",
        value: "0…1000",
        default: "100",
        summary: "how many active contracts of each app are compared with Apple's answer a day, chosen at random",
        parse: SettingValue.integer(in: 0...1000)
    )
}

/// A file with certificates that are trusted in addition to the system's for outbound TLS.
private enum OutboundRoot {
    /// What keeps the file from being used; nil when it can be.
    static func problem(_ path: String) -> String? {
        do {
            _ = try Certificate.bundle(pem: ReadableFile.bytes(at: path))
            return nil
        } catch let error as ReadableFile.Unreadable {
            return "\(path.mayHoldSecret ? "the file" : path) cannot be read: \(error)"
        } catch {
            return "\(path) holds no certificates in PEM: \(error)"
        }
    }
}
