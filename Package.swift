// swift-tools-version: 6.2
import PackageDescription

let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let nioTLS: Target.Dependency = .product(name: "NIOTLS", package: "swift-nio")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "appstore-inbox",
    products: [
        .executable(name: "appstore-inbox", targets: ["appstore-inbox"]),
        .executable(name: "appstore-inbox-lab", targets: ["appstore-inbox-lab"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // System libraries, each with one importer.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CGlibc"),
        .systemLibrary(name: "CSpawn", path: "Sources/Lab/CSpawn"),
        // The commit, which only the environment of the build knows.
        .target(
            name: "CBuild",
            cSettings: Context.environment["APPSTORE_INBOX_COMMIT"].map { [.define("APPSTORE_INBOX_COMMIT", to: "\"\($0)\"")] } ?? []
        ),
        // What every daemon has: threads and pauses, summaries of its log, metrics in Prometheus' text format, what systemd is told.
        .target(name: "ServiceSupport", dependencies: ["CGlibc", logging, metrics, serviceLifecycle]),
        .target(name: "Postgres", dependencies: ["CLibPQ", "ServiceSupport", logging, serviceLifecycle]),
        .target(name: "OpenSSL", dependencies: ["COpenSSL"]),

        .target(name: "StatementGeneration", path: "Sources/EmbeddedFiles/Statements"),
        .executableTarget(name: "embed-files", dependencies: ["StatementGeneration"], path: "Sources/EmbeddedFiles/Tool"),
        .plugin(name: "EmbeddedFiles", capability: .buildTool(), dependencies: ["embed-files"], path: "Sources/EmbeddedFiles/Plugin"),

        // The schema, compiled into the program.
        .target(
            name: "SQL",
            dependencies: ["Postgres"],
            path: "sql",
            exclude: [
                "README.md", "queries", "releases", "steps", "roles.sql", "grants.sql", "fingerprint.txt", "tables", "functions", "views",
                "statements",
            ],
            sources: ["Schema.swift"],
            plugins: ["EmbeddedFiles"]
        ),
        .target(name: "Schema", dependencies: ["SQL", "Postgres", "ServiceSupport", logging]),

        // Apple's vocabulary, and what can be trusted of it.
        .target(name: "StrictJSON"),
        .target(name: "AppStore", dependencies: ["StrictJSON"]),
        .target(name: "AppStoreVerification", dependencies: ["AppStore", "StrictJSON", "OpenSSL"]),

        // The books, what events mean for them, and the queue that leads the one to the other.
        .target(name: "Ledger", dependencies: ["AppStore", "StrictJSON", "OpenSSL"]),
        .target(name: "LedgerStore", dependencies: ["AppStore", "StrictJSON", "Ledger", "Postgres", "SQL"]),
        .target(name: "Interpretation", dependencies: ["AppStore", "StrictJSON", "AppStoreVerification", "Ledger"]),
        .target(
            name: "InboxQueue",
            dependencies: [
                "AppStore", "Interpretation", "Ledger", "LedgerStore", "Postgres", "SQL", "ServiceSupport", logging, metrics,
                serviceLifecycle,
            ]
        ),

        // Requests to other servers.
        .target(name: "HTTPRequesting", dependencies: [nioCore, nioHTTP1, nioPosix, nioSSL]),

        // What changed in the ledger, numbered after the commit, and its way to the endpoints of operators.
        .target(
            name: "Feed",
            dependencies: [
                "HTTPRequesting", "OpenSSL", "Postgres", "SQL", "ServiceSupport", logging, metrics, nioCore, nioHTTP1, nioPosix, nioSSL,
                serviceLifecycle,
            ]
        ),

        // Calls to others that the books ask for, made outside their transactions.
        .target(
            name: "Outbox",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "HTTPRequesting", "Postgres", "SQL", "ServiceSupport", logging, metrics,
                nioHTTP1, nioSSL, serviceLifecycle,
            ]
        ),
        // Apple's App Store Server API: keys, budget, what is asked, what is answered to consumption requests, and what answers mean.
        .target(
            name: "ServerAPI",
            dependencies: [
                "AppStore", "OpenSSL", "Outbox", "Postgres", "SQL", "ServiceSupport", "StrictJSON", logging, metrics,
            ]
        ),
        // Standing work beside events: Apple's notification history, customers whose ids are in a file, contracts that look stale.
        .target(
            name: "Backfill",
            dependencies: [
                "AppStore", "Ledger", "Outbox", "Postgres", "SQL", "ServerAPI", "ServiceSupport", "StrictJSON", logging, metrics,
                serviceLifecycle,
            ]
        ),
        // Whether the certificates that sign are revoked, asked beside verification.
        .target(
            name: "Revocation",
            dependencies: [
                "AppStore", "AppStoreVerification", "OpenSSL", "Outbox", "Postgres", "SQL", "ServiceSupport", logging, serviceLifecycle,
            ]
        ),

        // What the daemons serve.
        .target(
            name: "HTTPServing",
            dependencies: ["StrictJSON", "ServiceSupport", logging, metrics, nioCore, nioHTTP1, nioPosix, serviceLifecycle]
        ),
        .target(
            name: "Ingest",
            dependencies: [
                "AppStore", "AppStoreVerification", "HTTPServing", "Postgres", "SQL", "ServiceSupport", logging, metrics, nioCore,
                nioHTTP1, nioPosix, serviceLifecycle,
            ]
        ),
        .target(
            name: "ShopAPI",
            dependencies: [
                "AppStore", "Feed", "StrictJSON", "HTTPServing", "Interpretation", "OpenSSL", "Postgres", "SQL", "ServiceSupport", logging,
                metrics, nioCore, nioHTTP1, nioPosix, serviceLifecycle,
            ],
            exclude: ["openapi.json"],
            plugins: ["EmbeddedFiles"]
        ),
        // Pages for operators.
        .target(
            name: "Console",
            dependencies: [
                "AppStore", "HTTPServing", "InboxQueue", "Interpretation", "OpenSSL", "Postgres", "SQL", "StrictJSON", logging, metrics,
                nioCore, nioHTTP1, nioPosix, serviceLifecycle,
            ],
            exclude: ["Assets"],
            plugins: ["EmbeddedFiles"]
        ),

        // The commands and the composition root of the program that runs in production.
        .target(
            name: "Commands",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "Backfill", "CBuild", "CGlibc", "Console", "Feed", "HTTPRequesting",
                "HTTPServing", "Interpretation", "InboxQueue", "Ingest", "Ledger", "OpenSSL", "Outbox", "Postgres", "Revocation", "SQL",
                "Schema", "ServerAPI", "ServiceSupport", "ShopAPI", argumentParser, configuration, logging, metrics, nioCore, nioHTTP1,
                nioPosix, nioSSL, nioTLS, serviceLifecycle, unixSignals,
            ]
        ),
        .executableTarget(name: "appstore-inbox", dependencies: ["Commands"]),

        // For developers, and operators who try things: a simulated App Store, temporary PostgreSQL clusters, benchmarks. Nothing above
        // depends on it.
        .target(name: "TemporaryPostgres", dependencies: ["CSpawn", "Postgres", "ServiceSupport"], path: "Sources/Lab/TemporaryPostgres"),
        .target(name: "Randomness", path: "Sources/Lab/Randomness"),
        .target(
            name: "StoreSimulator",
            dependencies: ["AppStore", "StrictJSON", "OpenSSL", "Randomness"],
            path: "Sources/Lab/StoreSimulator"
        ),
        .target(
            name: "StoreSimulatorServer",
            dependencies: ["AppStore", "StrictJSON", "StoreSimulator", nioCore, nioHTTP1, nioPosix, nioSSL],
            path: "Sources/Lab/StoreSimulatorServer"
        ),
        .target(
            name: "WebhookReceiver",
            dependencies: ["OpenSSL", nioCore, nioHTTP1, nioPosix],
            path: "Sources/Lab/WebhookReceiver"
        ),
        .target(
            name: "Benchmarks",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "Feed", "Backfill", "InboxQueue", "OpenSSL", "Outbox", "Postgres",
                "ServerAPI", "TemporaryPostgres", "Randomness", "StoreSimulator", "StoreSimulatorServer", "WebhookReceiver",
                "ServiceSupport", logging,
            ],
            path: "Sources/Lab/Benchmarks",
            exclude: ["README.md"]
        ),
        .target(
            name: "LabCommands",
            dependencies: [
                "AppStore", "StrictJSON", "Benchmarks", "Commands", "Postgres", "Randomness", "StoreSimulator", "StoreSimulatorServer",
                "TemporaryPostgres", "WebhookReceiver", argumentParser, unixSignals,
            ],
            path: "Sources/Lab/LabCommands"
        ),
        .executableTarget(name: "appstore-inbox-lab", dependencies: ["Commands", "LabCommands"]),
        // For backends that take webhooks: see deploy/examples.
        .executableTarget(
            name: "webhook-receiver-example",
            dependencies: [crypto, nioCore, nioHTTP1, nioPosix],
            path: "deploy/examples/swift-receiver"
        ),

        // Support for tests: a private cluster, databases with the schema in them, facts made by hand.
        .target(name: "PostgresTesting", dependencies: ["Postgres", "TemporaryPostgres", logging], path: "Tests/Support/PostgresTesting"),
        .target(name: "HTTPServingTesting", dependencies: [nioCore, nioPosix], path: "Tests/Support/HTTPServingTesting"),
        .target(name: "PrometheusTesting", path: "Tests/Support/PrometheusTesting"),
        .target(name: "SystemdTesting", path: "Tests/Support/SystemdTesting"),
        .target(
            name: "InboxTesting",
            dependencies: ["Postgres", "PostgresTesting", "SQL", "Schema"],
            path: "Tests/Support/InboxTesting"
        ),
        // What Apple really signed, from a folder outside the project.
        .target(name: "CorpusTesting", path: "Tests/Support/CorpusTesting"),
        .target(name: "RandomJSON", dependencies: ["Randomness", "StrictJSON"], path: "Tests/Support/RandomJSON"),
        .target(name: "LedgerTesting", dependencies: ["AppStore", "StrictJSON", "Ledger"], path: "Tests/Support/LedgerTesting"),
        // Installations of earlier versions, to be upgraded.
        .target(
            name: "UpgradeTesting",
            dependencies: ["AppStore", "InboxTesting", "Ledger", "Postgres", "PostgresTesting"],
            path: "Tests/Support/UpgradeTesting"
        ),
        // Notifications that are really signed and verified; whole lives of customers, with a model of what the books must say of them.
        .target(
            name: "SignedTesting",
            dependencies: ["AppStore", "StrictJSON", "AppStoreVerification", "StoreSimulator"],
            path: "Tests/Support/SignedTesting"
        ),
        .target(
            name: "LivesTesting",
            dependencies: ["AppStore", "StrictJSON", "Ledger", "OpenSSL", "Postgres", "Randomness", "StoreSimulator"],
            path: "Tests/Support/LivesTesting"
        ),

        // The built program, its clients and its databases.
        .target(
            name: "EndToEndTesting",
            dependencies: [
                "AppStore", "StrictJSON", "OpenSSL", "Postgres", "PostgresTesting", "SystemdTesting", "TemporaryPostgres",
                "StoreSimulator", "StoreSimulatorServer",
            ],
            path: "Tests/Support/EndToEndTesting"
        ),

        .testTarget(
            name: "StatementGenerationTests",
            dependencies: ["StatementGeneration"],
            path: "Tests/Unit/StatementGenerationTests"
        ),
        .testTarget(
            name: "StrictJSONTests",
            dependencies: ["AppStore", "RandomJSON", "Randomness", "StrictJSON"],
            path: "Tests/Unit/StrictJSONTests"
        ),
        .testTarget(
            name: "AppStoreTests",
            dependencies: ["CorpusTesting", "RandomJSON", "Randomness", "AppStore", "Outbox", "ServerAPI", "StrictJSON"],
            path: "Tests/Unit/AppStoreTests",
            exclude: ["Documented/documented.json"]
        ),
        .testTarget(
            name: "AppStoreVerificationTests",
            dependencies: [
                "CorpusTesting", "Randomness", "AppStore", "StrictJSON", "AppStoreVerification", "OpenSSL", "StoreSimulator",
            ],
            path: "Tests/Unit/AppStoreVerificationTests"
        ),
        .testTarget(
            name: "BenchmarksTests",
            dependencies: ["StrictJSON", "Benchmarks", "TemporaryPostgres", "appstore-inbox", "appstore-inbox-lab"],
            path: "Tests/Integration/BenchmarksTests"
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "AppStore", "EndToEndTesting", "LivesTesting", "OpenSSL", "Postgres", "PostgresTesting", "TemporaryPostgres", "Randomness",
                "StoreSimulator", "appstore-inbox",
            ],
            path: "Tests/Chaos/ChaosTests"
        ),
        .testTarget(
            name: "CommandsTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "Commands", "Feed", "HTTPServing", "Ingest", "Outbox", "Postgres", "ServiceSupport",
                "PrometheusTesting", "Schema", "ServerAPI", "ShopAPI", "OpenSSL", "StoreSimulator", "Interpretation", argumentParser,
                logging,
            ],
            path: "Tests/Unit/CommandsTests"
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AppStore", "StrictJSON", "EndToEndTesting", "InboxTesting", "OpenSSL", "Postgres", "PostgresTesting", "PrometheusTesting",
                "Randomness", "SQL", "Schema", "StoreSimulator", "StoreSimulatorServer", "WebhookReceiver", "appstore-inbox",
                "appstore-inbox-lab", "webhook-receiver-example",
            ],
            path: "Tests/EndToEnd/EndToEndTests"
        ),
        .testTarget(
            name: "EndpointTests",
            dependencies: ["InboxQueue", "InboxTesting", "Postgres", "PostgresTesting", "Randomness", "SQL"],
            path: "Tests/Integration/EndpointTests"
        ),
        .testTarget(
            name: "FeedTests",
            dependencies: [
                "AppStore", "Feed", "InboxQueue", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "Postgres", "PostgresTesting",
                "Randomness", "TemporaryPostgres", serviceLifecycle,
            ],
            path: "Tests/Integration/FeedTests"
        ),
        .testTarget(
            name: "FuzzingTests",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "OpenSSL", "RandomJSON", "Randomness", "StoreSimulator",
            ],
            path: "Tests/Properties/FuzzingTests"
        ),
        .testTarget(
            name: "HistoryProofTests",
            dependencies: [
                "AppStore", "StrictJSON", "EndToEndTesting", "Postgres", "PostgresTesting", "Randomness", "StoreSimulator",
                "StoreSimulatorServer", "appstore-inbox",
            ],
            path: "Tests/Chaos/HistoryProofTests"
        ),
        .testTarget(
            name: "InterpretationTests",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "Interpretation", "Ledger", "SignedTesting", "StoreSimulator",
            ],
            path: "Tests/Unit/InterpretationTests"
        ),
        .testTarget(
            name: "HTTPRequestingTests",
            dependencies: ["Commands", "HTTPRequesting", "Outbox", "Randomness", "Feed", nioCore, nioEmbedded, nioHTTP1, nioPosix, nioSSL],
            path: "Tests/Integration/HTTPRequestingTests"
        ),
        .testTarget(
            name: "HTTPServingTests",
            dependencies: [
                "StrictJSON", "HTTPServing", "HTTPServingTesting", "PostgresTesting", "ServiceSupport", "PrometheusTesting", "Randomness",
                logging, nioCore, nioEmbedded, nioHTTP1, serviceLifecycle, nioPosix,
            ],
            path: "Tests/Integration/HTTPServingTests"
        ),
        .testTarget(
            name: "GroupCommitTests",
            dependencies: ["Ingest", "Postgres", "ServiceSupport", logging, serviceLifecycle],
            path: "Tests/Unit/GroupCommitTests"
        ),
        .testTarget(
            name: "InboxQueueTests",
            dependencies: [
                "InboxQueue", "InboxTesting", "Postgres", "PostgresTesting", "ServiceSupport", "PrometheusTesting", "Randomness", "SQL",
                serviceLifecycle,
            ],
            path: "Tests/Integration/InboxQueueTests"
        ),
        .testTarget(
            name: "IngestTests",
            dependencies: [
                "AppStoreVerification", "HTTPServing", "HTTPServingTesting", "Ingest", "Postgres", "PostgresTesting", "ServiceSupport",
                "PrometheusTesting", "Schema", logging, serviceLifecycle,
            ],
            path: "Tests/Integration/IngestTests"
        ),
        .testTarget(
            name: "LedgerStoreTests",
            dependencies: [
                "AppStore", "StrictJSON", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "Postgres", "PostgresTesting",
            ],
            path: "Tests/Integration/LedgerStoreTests"
        ),
        .testTarget(
            name: "InterfaceTests",
            dependencies: ["InboxTesting", "Postgres", "PostgresTesting", "Randomness"],
            path: "Tests/Integration/InterfaceTests"
        ),
        .testTarget(
            name: "LedgerTests",
            dependencies: ["Randomness", "AppStore", "StrictJSON", "Ledger", "LedgerTesting"],
            path: "Tests/Unit/LedgerTests"
        ),
        .testTarget(
            name: "OpenSSLTests",
            dependencies: ["AppStore", "Randomness", "OpenSSL", "StoreSimulator"],
            path: "Tests/Unit/OpenSSLTests"
        ),
        .testTarget(
            name: "OperatorCommandsTests",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "Commands", "HTTPRequesting", "Interpretation", "Ledger", "Postgres",
                "Randomness", "SignedTesting", "StoreSimulator",
            ],
            path: "Tests/Unit/OperatorCommandsTests"
        ),
        .testTarget(
            name: "OrderIndependenceTests",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "Interpretation", "InboxQueue", "InboxTesting", "Ledger", "LedgerStore",
                "LivesTesting", "Postgres", "PostgresTesting", "Randomness", "StoreSimulator", "UpgradeTesting", logging,
            ],
            path: "Tests/Properties/OrderIndependenceTests"
        ),
        .testTarget(
            name: "PgBouncerTests",
            dependencies: [
                "AppStore", "EndToEndTesting", "HTTPServing", "HTTPServingTesting", "Ingest", "InboxQueue", "InboxTesting",
                "Interpretation", "Postgres", "PostgresTesting", "TemporaryPostgres", "ShopAPI", "SignedTesting", "StoreSimulator",
                "appstore-inbox", serviceLifecycle,
            ],
            path: "Tests/Integration/PgBouncerTests"
        ),
        .testTarget(
            name: "PlanTests",
            dependencies: [
                "AppStore", "InboxQueue", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "OpenSSL", "Outbox", "Postgres",
                "PostgresTesting", "SQL", "ServerAPI",
            ],
            path: "Tests/Integration/PlanTests"
        ),
        // A worker that marked bodies kill or hang.
        .executableTarget(
            name: "PoisonedWorker",
            dependencies: ["InboxQueue", "Postgres", logging, serviceLifecycle, unixSignals],
            path: "Tests/Support/PoisonedWorker"
        ),
        .testTarget(
            name: "PoisonTests",
            dependencies: ["InboxTesting", "PoisonedWorker", "Postgres", "PostgresTesting", "TemporaryPostgres"],
            path: "Tests/Chaos/PoisonTests"
        ),
        .testTarget(
            name: "PostgresTests",
            dependencies: ["Randomness", "Postgres", "PostgresTesting", "ServiceSupport", serviceLifecycle],
            path: "Tests/Integration/PostgresTests"
        ),
        .testTarget(
            name: "PrometheusTests",
            dependencies: ["ServiceSupport", "PrometheusTesting", "Randomness", metrics],
            path: "Tests/Unit/PrometheusTests"
        ),
        .testTarget(
            name: "RevocationTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "InboxQueue", "InboxTesting", "Interpretation", "OpenSSL", "Outbox", "Postgres",
                "PostgresTesting", "Revocation", "StoreSimulator", "StoreSimulatorServer", logging, serviceLifecycle,
            ],
            path: "Tests/Integration/RevocationTests"
        ),
        .testTarget(
            name: "SchemaTests",
            dependencies: [
                "AppStore", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "SQL", "Postgres", "PostgresTesting", "StrictJSON",
                "TemporaryPostgres", "Schema", "UpgradeTesting",
            ],
            path: "Tests/Integration/SchemaTests"
        ),
        .testTarget(
            name: "ShopAPITests",
            dependencies: [
                "AppStore", "Feed", "StrictJSON", "HTTPServing", "HTTPServingTesting", "Interpretation", "InboxTesting", "OpenSSL",
                "Postgres", "PostgresTesting", "Schema", "ShopAPI", "StoreSimulator", serviceLifecycle,
            ],
            path: "Tests/Integration/ShopAPITests",
            exclude: ["feed-members.txt"]
        ),
        .testTarget(name: "HTMLTests", dependencies: ["Console", nioCore], path: "Tests/Unit/HTMLTests"),
        .testTarget(
            name: "ConsolePagesTests",
            dependencies: [
                "AppStore", "Console", "HTTPServing", "HTTPServingTesting", "InboxQueue", "InboxTesting", "Interpretation", "Postgres",
                "PostgresTesting", "StrictJSON", serviceLifecycle,
            ],
            path: "Tests/Integration/ConsolePagesTests"
        ),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "Console", "HTTPServing", "HTTPServingTesting", "InboxTesting", "Postgres", "PostgresTesting", "StrictJSON",
                serviceLifecycle,
            ],
            path: "Tests/Integration/ConsoleTests"
        ),
        .testTarget(
            name: "StoreSimulatorTests",
            dependencies: [
                "AppStore", "StrictJSON", "AppStoreVerification", "CorpusTesting", "HTTPRequesting", "OpenSSL", "Randomness",
                "StoreSimulator", "StoreSimulatorServer", "WebhookReceiver", nioCore, nioHTTP1, nioSSL,
            ],
            path: "Tests/Unit/StoreSimulatorTests"
        ),
        .testTarget(
            name: "OutboxTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "StrictJSON", "InboxTesting", "Ledger", "LedgerStore", "Outbox", "Postgres",
                "PostgresTesting", "ServiceSupport", "PrometheusTesting", "StoreSimulator", "StoreSimulatorServer", logging,
                serviceLifecycle,
            ],
            path: "Tests/Integration/OutboxTests"
        ),
        .testTarget(
            name: "ServerAPITests",
            dependencies: [
                "AppStore", "InboxTesting", "OpenSSL", "Outbox", "Postgres", "PostgresTesting", "ServiceSupport", "PrometheusTesting",
                "ServerAPI", "StoreSimulator", "StoreSimulatorServer", "StrictJSON", "TemporaryPostgres", logging, serviceLifecycle,
            ],
            path: "Tests/Integration/ServerAPITests"
        ),
        .testTarget(
            name: "ConsumptionTests",
            dependencies: [
                "AppStore", "ServerAPI", "InboxTesting", "OpenSSL", "Outbox", "Postgres", "PostgresTesting", "ServiceSupport",
                "PrometheusTesting", "StrictJSON", metrics, serviceLifecycle,
            ],
            path: "Tests/Integration/ConsumptionTests"
        ),
        .testTarget(
            name: "InquiriesTests",
            dependencies: [
                "AppStore", "CorpusTesting", "ServerAPI", "InboxTesting", "OpenSSL", "Outbox", "Postgres", "PostgresTesting", "StrictJSON",
                "ServiceSupport", serviceLifecycle,
            ],
            path: "Tests/Integration/InquiriesTests"
        ),
        .testTarget(
            name: "HistoryTests",
            dependencies: [
                "AppStore", "CorpusTesting", "Backfill", "InboxTesting", "OpenSSL", "Outbox", "Postgres", "PostgresTesting", "Randomness",
                "ServerAPI", "StrictJSON", "ServiceSupport", metrics,
            ],
            path: "Tests/Integration/HistoryTests"
        ),
        .testTarget(
            name: "ImportTests",
            dependencies: [
                "AppStore", "Commands", "Backfill", "InboxQueue", "InboxTesting", "OpenSSL", "Outbox", "Postgres", "PostgresTesting",
                "Randomness", "ServerAPI", "StrictJSON", "ServiceSupport",
            ],
            path: "Tests/Integration/ImportTests"
        ),
        .testTarget(
            name: "ReconcileTests",
            dependencies: ["AppStore", "InboxTesting", "Outbox", "Postgres", "PostgresTesting", "Backfill", "SQL"],
            path: "Tests/Integration/ReconcileTests"
        ),
        .testTarget(
            name: "ReportTests",
            dependencies: [
                "AppStore", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "Postgres", "PostgresTesting", "Randomness",
            ],
            path: "Tests/Integration/ReportTests"
        ),
        .testTarget(name: "ReportingTests", dependencies: ["ServiceSupport", logging], path: "Tests/Unit/ReportingTests"),
        .testTarget(name: "SystemdTests", dependencies: ["ServiceSupport", "SystemdTesting", logging], path: "Tests/Unit/SystemdTests"),
        .testTarget(
            name: "WebhooksTests",
            dependencies: [
                "AppStore", "Feed", "HTTPRequesting", "InboxTesting", "Postgres", "PostgresTesting", "ServiceSupport", "PrometheusTesting",
                "Randomness", "StoreSimulator", nioCore, nioHTTP1, nioPosix, nioSSL, serviceLifecycle,
            ],
            path: "Tests/Integration/WebhooksTests"
        ),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "AppStore", "StrictJSON", "Interpretation", "InboxQueue", "InboxTesting", "Ledger", "Postgres", "PostgresTesting",
                "Randomness", "SignedTesting", "StoreSimulator", "ServiceSupport", logging, serviceLifecycle,
            ],
            path: "Tests/Integration/WorkerTests"
        ),
    ]
)

for target in package.targets where target.type != .system && target.type != .plugin {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ]
    // What the tests run is optimized in debug builds, too. Assertions stay.
    if target.type != .test && target.path?.hasPrefix("Tests") != true {
        target.swiftSettings? += [.unsafeFlags(["-O", "-assert-config", "Debug"], .when(configuration: .debug))]
    }
}

// deploy/prove compiles some of the tests with a sanitizer, and nothing that they do not need.
if let names = Context.environment["PROVE_TESTS"] {
    var needed: Set<String> = []
    var open = names.split(separator: " ").map(String.init)
    while let name = open.popLast() {
        guard needed.insert(name).inserted, let target = package.targets.first(where: { $0.name == name }) else { continue }
        for case .byNameItem(let dependency, _) in target.dependencies { open.append(dependency) }
    }
    package.targets.removeAll { !needed.union(["StatementGeneration", "embed-files", "EmbeddedFiles"]).contains($0.name) }
    package.products = []
}
