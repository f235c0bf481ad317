import FoundationEssentials
import InboxQueue
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
    static let common = [shutdownTimeout.description] + log
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
