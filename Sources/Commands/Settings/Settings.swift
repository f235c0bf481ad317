import FoundationEssentials
import InboxQueue
import Interpretation
import Logging

/// Every setting of the daemons: name, shape, default and meaning, in one table.
enum Settings {
    static let databaseURL = Setting(
        "database-url",
        value: "CONNINFO",
        default: nil,
        isSecret: true,
        summary: "where PostgreSQL is, in any form that libpq takes; better from a file than from a flag that ps(1) shows",
        parse: SettingValue.connectionString
    )
    static let databaseURLFile = Setting(
        "database-url-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the database-url",
        parse: SettingValue.nonEmpty
    )
    static let prepared = Setting(
        "prepared",
        value: "on|off",
        default: "on",
        summary: "off behind a pooler in transaction mode, such as PgBouncer",
        parse: SettingValue.toggle
    )

    static let listen = Setting(
        "listen",
        value: "HOST:PORT|unix:PATH",
        default: "127.0.0.1:8080",
        summary: "where Apple's notifications arrive",
        parse: SettingValue.address
    )
    static let adminListen = Setting(
        "admin-listen",
        value: "HOST:PORT|unix:PATH",
        default: "127.0.0.1:9090",
        summary: "where ingest serves /livez, /readyz and /metrics, also when the first listener is full",
        parse: SettingValue.address
    )
    static let apiListen = Setting(
        "api-listen",
        value: "HOST:PORT|unix:PATH",
        default: nil,
        summary: "where ingest serves the API for the shop's own backend; off when it is not set",
        parse: SettingValue.address
    )
    static let apiDatabaseURL = Setting(
        "api-database-url",
        value: "CONNINFO",
        default: nil,
        isSecret: true,
        summary: "the database-url of the API, for the role appstore_api; required with api-listen",
        parse: SettingValue.connectionString
    )
    static let apiDatabaseURLFile = Setting(
        "api-database-url-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the api-database-url",
        parse: SettingValue.nonEmpty
    )
    static let apiStandbyURL = Setting(
        "api-standby-url",
        value: "CONNINFO",
        default: nil,
        isSecret: true,
        summary: "the database-url of a standby that answers the API's reads of entitlements and contracts, for the role appstore_api",
        parse: SettingValue.connectionString
    )
    static let apiStandbyURLFile = Setting(
        "api-standby-url-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the api-standby-url",
        parse: SettingValue.nonEmpty
    )
    static let bodyLimit = Setting(
        "body-limit",
        value: "bytes",
        default: "262144",
        summary: "the largest notification that is accepted",
        parse: SettingValue.integer(in: 16_384...4_194_304)
    )
    static let memoryLimit = Setting(
        "memory-limit",
        value: "bytes",
        default: "67108864",
        summary: "the most bytes of bodies in memory at once; 503 beyond",
        parse: SettingValue.integer(in: 1_048_576...1_073_741_824)
    )
    static let connectionLimit = Setting(
        "connection-limit",
        value: "count",
        default: "512",
        summary: "the most client connections at once",
        parse: SettingValue.integer(in: 1...65_536)
    )
    static let requestTimeout = Setting(
        "request-timeout",
        value: "seconds",
        default: "10",
        summary: "how long one request may take to arrive",
        parse: SettingValue.integer(in: 1...300)
    )
    static let hourlyByteLimit = Setting(
        "hourly-byte-limit",
        value: "bytes",
        default: "4294967296",
        summary: "the most bytes stored in an hour, 503 beyond; 0 means no limit",
        parse: SettingValue.integer(in: 0...1_099_511_627_776)
    )

    static let apps = Setting(
        "apps",
        value: "bundleId[:appAppleId],…",
        default: nil,
        summary: "the apps whose notifications are processed; all others are rejected",
        parse: SettingValue.apps
    )
    static let environments = Setting(
        "environments",
        value: "Production,Sandbox",
        default: "Production,Sandbox",
        summary: "the App Store environments that are processed",
        parse: SettingValue.environments
    )
    static let extraRoots = Setting(
        "extra-roots",
        value: "PATH[:Env[+Env]],…",
        default: "",
        summary: "root certificates trusted in addition to Apple's, for tests: PEM or DER, for Sandbox unless Production is named",
        parse: SettingValue.extraRoots
    )
    static let ocsp = Setting(
        "ocsp",
        value: "on|off",
        default: "on",
        summary:
            "off asks no OCSP responder whether certificates are revoked, for a site without a way out; what is known counts all the same",
        parse: SettingValue.toggle
    )
    static let workerAdminListen = Setting(
        "worker-admin-listen",
        value: "HOST:PORT|unix:PATH|off",
        default: "off",
        summary: "where a worker serves /livez, /readyz and /metrics; each worker of a machine needs an address of its own",
        parse: SettingValue.addressOrOff
    )
    static let concurrency = Setting(
        "concurrency",
        value: "1…64",
        default: "\(min(64, ProcessInfo.processInfo.activeProcessorCount + 1))",
        summary: "batches in flight, each on a connection of its own",
        parse: SettingValue.integer(in: 1...64)
    )
    static let batchSize = Setting(
        "batch-size",
        value: "1…1000",
        default: "\(QueueConfiguration().batchEvents)",
        summary: "the most events in one transaction",
        parse: SettingValue.integer(in: 1...1000)
    )
    static let maximumAttempts = Setting(
        "max-attempts",
        value: "1…100",
        default: "\(QueueConfiguration().maximumAttempts)",
        summary: "the attempts after which an event is failed",
        parse: SettingValue.integer(in: 1...100)
    )

    static let shutdownTimeout = Setting(
        "shutdown-timeout",
        value: "seconds",
        default: "25",
        summary: "how long work in flight may take after SIGTERM",
        parse: SettingValue.integer(in: 1...600)
    )
    static let logLevel = Setting(
        "log-level",
        value: "trace…critical",
        default: "info",
        summary: "the least severe message that is logged",
        parse: SettingValue.choice(Logger.Level.self)
    )
    static let logFormat = Setting(
        "log-format",
        value: "auto|text|json",
        default: "auto",
        summary: "auto is json for the systemd journal and text elsewhere",
        parse: SettingValue.choice(LogSettings.Format.self)
    )

    static let log = [logLevel.description, logFormat.description]
    private static let common = [shutdownTimeout.description] + log
    static let database = [databaseURL.description, databaseURLFile.description, prepared.description]
    static let api = [
        apiListen.description, apiDatabaseURL.description, apiDatabaseURLFile.description, apiStandbyURL.description,
        apiStandbyURLFile.description,
    ]
    static let ingest =
        database + api + secrets + [
            listen.description, adminListen.description, bodyLimit.description, memoryLimit.description, connectionLimit.description,
            requestTimeout.description, hourlyByteLimit.description, legacyBodyLimit.description,
        ] + common
    static let verification =
        [apps.description, environments.description, extraRoots.description, verifyReceipt.description] + secrets
    static let worker =
        database + verification + outbound + serverAPI + webhooks + [
            reconcile.description, reconcileSample.description, ocsp.description, workerAdminListen.description, concurrency.description,
            batchSize.description, maximumAttempts.description,
        ] + common

    /// Each setting once, for checking names: a configuration file may serve all daemons.
    static let all: [SettingDescription] = [worker, console].reduce(ingest) { all, more in
        all + more.filter { setting in !all.contains { $0.name == setting.name } }
    }
}

/// The settings for Apple's App Store Server API.
extension Settings {
    static let apiKeysDirectory = Setting(
        "api-keys-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with In-App Purchase keys, ISSUER/SubscriptionKey_ID.p8 as App Store Connect names them",
        parse: SettingValue.nonEmpty
    )
    static let apiIssuers = Setting(
        "api-issuers",
        value: "bundleId=ISSUER,…",
        default: "",
        summary: "the issuer of each app's key, where there are keys of several issuers",
        parse: SettingValue.issuers
    )
    static let apiProductionURL = Setting(
        "api-production-url",
        value: "https://HOST",
        default: "https://api.storekit.apple.com",
        summary: "the App Store Server API of Production; http on this machine only",
        parse: SettingValue.serverAPIURL
    )
    static let apiSandboxURL = Setting(
        "api-sandbox-url",
        value: "https://HOST",
        default: "https://api.storekit-sandbox.apple.com",
        summary: "the App Store Server API of Sandbox",
        parse: SettingValue.serverAPIURL
    )
    static let apiBudget = Setting(
        "api-budget",
        value: "1…100",
        default: "80",
        summary: "the percentage of Apple's documented limits that the workers use together; other programs may ask for the same apps",
        parse: SettingValue.integer(in: 1...100)
    )

    static let apiImportRequests = Setting(
        "api-import-requests",
        value: "1…100",
        default: "16",
        summary: "requests of imports that a worker has in flight, for each app and environment",
        parse: SettingValue.integer(in: 1...100)
    )

    private static let serverAPI = [
        apiKeysDirectory.description, apiIssuers.description, apiProductionURL.description, apiSandboxURL.description,
        apiBudget.description, apiImportRequests.description,
    ]
}

/// The settings for webhooks.
extension Settings {
    static let webhookSecret = Setting(
        "webhook-secret",
        value: "TEXT",
        default: nil,
        isSecret: true,
        summary: "the text from which each endpoint's secret is derived; better from a file than from a flag that ps(1) shows",
        parse: SettingValue.webhookMasters
    )
    static let webhookSecretFile = Setting(
        "webhook-secret-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the webhook-secret, and in a second line the previous one while it is replaced",
        parse: SettingValue.nonEmpty
    )
    static let webhookHeadersDirectory = Setting(
        "webhook-headers-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with files ENDPOINT.headers, whose lines NAME: value are sent with each webhook of the endpoint",
        parse: SettingValue.nonEmpty
    )
    static let outboundNetworks = Setting(
        "outbound-networks",
        value: "any|public|CIDR,…",
        default: "any",
        summary: "where webhooks may go; never to link-local or metadata addresses, nor to listeners of this program",
        parse: SettingValue.networkPolicy
    )
    static let outboundProxy = Setting(
        "outbound-proxy",
        value: "http://[USER:PASSWORD@]HOST:PORT",
        default: nil,
        isSecret: true,
        summary: "the proxy through which webhooks are sent",
        parse: SettingValue.proxy
    )
    static let outboundProxyFile = Setting(
        "outbound-proxy-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the outbound-proxy",
        parse: SettingValue.nonEmpty
    )

    private static let webhooks = [
        webhookSecret.description, webhookSecretFile.description, webhookHeadersDirectory.description, outboundNetworks.description,
        outboundProxy.description, outboundProxyFile.description,
    ]
    /// Those of them without a default.
    static let optionalWebhooks = webhooks.filter { $0.fallback == nil }
}

/// The settings for receipts and notifications V1.
extension Settings {
    static let sharedSecretsDirectory = Setting(
        "shared-secrets-directory",
        value: "PATH",
        default: nil,
        summary: "a folder with a file for each app, named as its bundle id: one shared secret a line, first the one for verifyReceipt",
        parse: SettingValue.nonEmpty
    )
    static let sharedSecrets = Setting(
        "shared-secrets",
        value: "bundleId=secret,…",
        default: nil,
        isSecret: true,
        summary: "the same in one text, one item for each secret; better from files than from a flag that ps(1) shows",
        parse: SettingValue.sharedSecrets
    )
    static let sharedSecretsFile = Setting(
        "shared-secrets-file",
        value: "PATH",
        default: nil,
        summary: "a file that holds the shared-secrets",
        parse: SettingValue.nonEmpty
    )
    static let legacyBodyLimit = Setting(
        "legacy-body-limit",
        value: "bytes",
        default: "4194304",
        summary: "the largest notification V1, and the largest body of POST /v1/receipts, for which 4128768 is the most",
        parse: SettingValue.integer(in: 16_384...4_194_304)
    )
    static let verifyReceipt = Setting(
        "verify-receipt",
        value: "apple|local",
        default: "apple",
        summary: "apple calls verifyReceipt for receipts of apps that have a shared secret; local never does",
        parse: SettingValue.choice(VerifyReceiptMode.self)
    )
    static let verifyReceiptURL = Setting(
        "verify-receipt-url",
        value: "URL",
        default: "https://buy.itunes.apple.com/verifyReceipt",
        summary: "the verifyReceipt endpoint that is called first; http on this machine only",
        parse: SettingValue.verifyReceiptURL
    )
    static let verifyReceiptSandboxURL = Setting(
        "verify-receipt-sandbox-url",
        value: "URL",
        default: "https://sandbox.itunes.apple.com/verifyReceipt",
        summary: "the verifyReceipt endpoint for receipts of the sandbox",
        parse: SettingValue.verifyReceiptURL
    )
    static let outboundRoots = Setting(
        "outbound-roots",
        value: "PATH,…",
        default: "",
        summary: "certificates in PEM trusted in addition to the system's for outbound TLS, for tests",
        parse: SettingValue.paths
    )

    /// The secrets, for both daemons: ingest compares them, the worker sends them to verifyReceipt.
    static let secrets = [sharedSecretsDirectory.description, sharedSecrets.description, sharedSecretsFile.description]
    private static let outbound = [verifyReceiptURL.description, verifyReceiptSandboxURL.description, outboundRoots.description]
}

/// The settings of the console.
extension Settings {
    static let consoleListen = Setting(
        "console-listen",
        value: "HOST:PORT|unix:PATH",
        default: nil,
        summary: "where the console is served: this machine or a Unix socket, or, with console-origin, any address",
        parse: SettingValue.address
    )
    static let consoleOrigin = Setting(
        "console-origin",
        value: "https://HOST[:PORT]",
        default: nil,
        summary: "the origin that browsers see, where a proxy with TLS is in front of the console",
        parse: SettingValue.httpsOrigin
    )
    static let consoleReadOnly = Setting(
        "console-read-only",
        value: "on|off",
        default: "off",
        summary: "on lets the console change nothing",
        parse: SettingValue.toggle
    )
    static let consoleTrustedHeader = Setting(
        "console-trusted-header",
        value: "NAME",
        default: nil,
        summary: "the header field in which an authenticating proxy names the person; on a Unix socket only",
        parse: SettingValue.fieldName
    )
    static let consoleUsersFile = Setting(
        "console-users-file",
        value: "PATH",
        default: nil,
        summary: "a file of lines NAME viewer|operator [bodies]: whom the proxy may name",
        parse: SettingValue.nonEmpty
    )
    static let consoleAdminListen = Setting(
        "console-admin-listen",
        value: "HOST:PORT|unix:PATH|off",
        default: "off",
        summary: "where the console serves /livez, /readyz and /metrics",
        parse: SettingValue.addressOrOff
    )

    static let optionalConsole = [
        consoleOrigin.description, consoleTrustedHeader.description, consoleUsersFile.description,
    ]
    static let console =
        database + [consoleListen.description, consoleReadOnly.description, consoleAdminListen.description] + optionalConsole + common
}

extension SettingValue {
    /// `https://HOST[:PORT]`, as browsers write an origin: lower case, without a path.
    fileprivate static func httpsOrigin(_ text: String) throws(InvalidSettingValue) -> String {
        let host = text.hasPrefix("https://") ? text.dropFirst("https://".count) : ""
        let isOrigin = host.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
                true
            default: false
            }
        }
        guard !host.isEmpty, isOrigin, !host.hasSuffix(":443") else {
            throw InvalidSettingValue(expectation: "must be https://HOST or https://HOST:PORT, in lower case, without a path")
        }
        return text
    }

    /// The name of a header field (RFC 9110, section 5.1).
    fileprivate static func fieldName(_ text: String) throws(InvalidSettingValue) -> String {
        let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
        guard !text.isEmpty, isName else { throw InvalidSettingValue(expectation: "must be the name of a header field") }
        return text.lowercased()
    }
}
