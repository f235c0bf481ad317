// swift-tools-version: 6.2
import PackageDescription

let asyncHTTPClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let nioCore: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "appstore-inbox",
    products: [.executable(name: "appstore-inbox", targets: ["appstore-inbox"])],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // System libraries, each with one importer.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CMalloc"),
        .target(name: "Postgres", dependencies: ["CLibPQ", logging, serviceLifecycle]),
        .target(name: "OpenSSL", dependencies: ["COpenSSL"]),

        // The schema, compiled into the program.
        .target(
            name: "SQL",
            dependencies: ["Postgres"],
            path: "sql",
            exclude: ["README.md", "schema.sql", "queries", "steps"],
            sources: [
                "Schema.swift", "Statements.swift", "Statements+Commands.swift", "Statements+Ledger.swift", "Statements+Outbox.swift",
                "Statements+Shop.swift",
            ],
            resources: [
                .embedInCode("roles.sql"), .embedInCode("grants.sql"), .embedInCode("fingerprint.txt"), .embedInCode("tables"),
                .embedInCode("functions"), .embedInCode("views"), .embedInCode("statements"),
            ]
        ),
        .target(name: "Schema", dependencies: ["SQL", "Postgres", logging]),

        // Apple's vocabulary, and what can be trusted of it.
        .target(name: "AppStore"),
        .target(name: "AppStoreVerification", dependencies: ["AppStore", "OpenSSL"]),

        // The queue, the books, and what events mean for them.
        .target(name: "Inbox", dependencies: ["Postgres", "SQL", logging, metrics, serviceLifecycle]),
        .target(name: "Ledger", dependencies: ["AppStore", "OpenSSL"]),
        .target(name: "LedgerStore", dependencies: ["AppStore", "Ledger", "Postgres", "SQL"]),
        .target(name: "Handlers", dependencies: ["AppStore", "AppStoreVerification", "Ledger"]),

        // Counters in Prometheus' text format.
        .target(name: "Prometheus", dependencies: [metrics]),

        // Calls to others that the books ask for, made outside their transactions.
        .target(
            name: "Outbox",
            dependencies: [
                "AppStore", "AppStoreVerification", "Postgres", "SQL", asyncHTTPClient, logging, metrics, nioCore, nioHTTP1, nioSSL,
                serviceLifecycle,
            ]
        ),

        // The two daemons.
        .target(
            name: "HTTPServing",
            dependencies: [
                "AppStore", "Prometheus", hummingbird, hummingbirdCore, httpTypes, logging, metrics, nioCore, nioHTTP1, nioPosix,
                serviceLifecycle,
            ]
        ),
        .target(
            name: "Ingest",
            dependencies: [
                "AppStore", "AppStoreVerification", "HTTPServing", "Inbox", hummingbird, httpTypes, logging, metrics, nioCore, nioPosix,
                serviceLifecycle,
            ]
        ),
        .target(
            name: "ShopAPI",
            dependencies: [
                "AppStore", "HTTPServing", "Handlers", "OpenSSL", "Postgres", "SQL", hummingbird, httpTypes, logging, metrics, nioCore,
                nioPosix,
                serviceLifecycle,
            ],
            resources: [.embedInCode("openapi.json")]
        ),
        .target(
            name: "Worker",
            dependencies: [
                "AppStore", "AppStoreVerification", "Handlers", "Inbox", "Ledger", "LedgerStore", "Postgres", logging, metrics,
                serviceLifecycle,
            ]
        ),
        .target(name: "Systemd", dependencies: [logging]),

        // Private PostgreSQL clusters for benchmarks and tests.
        .target(name: "PrivateCluster"),

        // A make-believe App Store, and the program.
        .target(name: "Randomness"),
        .target(name: "StoreSimulator", dependencies: ["AppStore", "OpenSSL", "Randomness"]),
        .target(
            name: "StoreSimulatorServer",
            dependencies: ["AppStore", "OpenSSL", "StoreSimulator", nioCore, nioHTTP1, nioPosix, nioSSL]
        ),
        .target(
            name: "Benchmarks",
            dependencies: [
                "AppStore", "AppStoreVerification", "Handlers", "Inbox", "OpenSSL", "Postgres", "PrivateCluster", "Randomness",
                "StoreSimulator", logging,
            ],
            exclude: ["README.md"]
        ),
        .target(
            name: "Commands",
            dependencies: [
                "AppStore", "AppStoreVerification", "Benchmarks", "CMalloc", "HTTPServing", "Handlers", "Inbox", "Ingest", "Ledger",
                "OpenSSL", "Outbox",
                "Postgres", "Prometheus", "SQL", "Schema", "ShopAPI", "StoreSimulator", "StoreSimulatorServer", "Systemd", "Worker",
                argumentParser, configuration,
                logging,
                metrics, nioCore, nioHTTP1, nioPosix, serviceLifecycle, unixSignals,
            ]
        ),
        .executableTarget(name: "appstore-inbox", dependencies: ["Commands"]),

        // Support for tests: a private cluster, databases with the schema in them, facts made by hand.
        .target(name: "PostgresTesting", dependencies: ["Postgres", "PrivateCluster", logging], path: "Tests/PostgresTesting"),
        .target(name: "HTTPServingTesting", dependencies: [nioCore, nioPosix], path: "Tests/HTTPServingTesting"),
        .target(name: "PrometheusTesting", path: "Tests/PrometheusTesting"),
        .target(name: "InboxTesting", dependencies: ["Postgres", "PostgresTesting", "Schema", logging], path: "Tests/InboxTesting"),
        .target(name: "LedgerTesting", dependencies: ["AppStore", "Ledger"], path: "Tests/LedgerTesting"),
        // Notifications that are really signed and verified; whole lives of customers, with a model of what the books must say of them.
        .target(
            name: "SignedTesting",
            dependencies: ["AppStore", "AppStoreVerification", "StoreSimulator"],
            path: "Tests/SignedTesting"
        ),
        .target(
            name: "LivesTesting",
            dependencies: ["AppStore", "Ledger", "OpenSSL", "Postgres", "Randomness", "StoreSimulator"],
            path: "Tests/LivesTesting"
        ),

        // The built program, its clients and its databases.
        .target(
            name: "EndToEndTesting",
            dependencies: ["AppStore", "OpenSSL", "Postgres", "PostgresTesting", "PrivateCluster", "StoreSimulator"],
            path: "Tests/EndToEndTesting"
        ),

        .testTarget(name: "AppStoreTests", dependencies: ["Randomness", "AppStore"]),
        .testTarget(
            name: "AppStoreVerificationTests",
            dependencies: ["Randomness", "AppStore", "AppStoreVerification", "OpenSSL", "StoreSimulator"]
        ),
        .testTarget(
            name: "BenchmarksTests",
            dependencies: [
                "AppStore", "Benchmarks", "OpenSSL", "Postgres", "PrivateCluster", "Randomness", "StoreSimulator", "appstore-inbox",
            ]
        ),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "AppStore", "EndToEndTesting", "LivesTesting", "OpenSSL", "Postgres", "PostgresTesting", "PrivateCluster", "Randomness",
                "StoreSimulator", "appstore-inbox",
            ]
        ),
        .testTarget(
            name: "CommandsTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "Commands", "HTTPServing", "Inbox", "Ingest", "Outbox", "Postgres", "Prometheus",
                "PrometheusTesting", "Schema", "ShopAPI", "OpenSSL", "StoreSimulator", argumentParser, logging, metrics,
            ]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "AppStore", "EndToEndTesting", "OpenSSL", "Postgres", "PostgresTesting", "PrometheusTesting", "StoreSimulator",
                "appstore-inbox",
            ]
        ),
        .testTarget(
            name: "HandlersTests",
            dependencies: ["AppStore", "AppStoreVerification", "Handlers", "Ledger", "SignedTesting", "StoreSimulator"]
        ),
        .testTarget(
            name: "HTTPServingTests",
            dependencies: [
                "AppStore", "HTTPServing", "HTTPServingTesting", "Prometheus", "PrometheusTesting", "Randomness", logging, metrics, nioCore,
                nioEmbedded, nioHTTP1, serviceLifecycle,
            ]
        ),
        .testTarget(name: "InboxIntakeTests", dependencies: ["Inbox", "Prometheus", "PrometheusTesting", logging, serviceLifecycle]),
        .testTarget(
            name: "InboxTests",
            dependencies: [
                "Inbox", "InboxTesting", "Postgres", "PostgresTesting", "Prometheus", "PrometheusTesting", logging, metrics,
                serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "IngestTests",
            dependencies: [
                "AppStoreVerification", "HTTPServing", "HTTPServingTesting", "Inbox", "Ingest", "SQL", "Postgres", "PostgresTesting",
                "Prometheus",
                "PrometheusTesting", "Schema", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "LedgerStoreTests",
            dependencies: [
                "Randomness", "AppStore", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "Postgres", "PostgresTesting",
            ]
        ),
        .testTarget(name: "InterfaceTests", dependencies: ["InboxTesting", "Postgres", "PostgresTesting"]),
        .testTarget(name: "LedgerTests", dependencies: ["Randomness", "AppStore", "Ledger", "LedgerTesting"]),
        .testTarget(name: "OpenSSLTests", dependencies: ["Randomness", "OpenSSL"]),
        .testTarget(
            name: "OperatorCommandsTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "Commands", "Handlers", "Inbox", "Ledger", "Postgres", "Randomness", "SignedTesting",
                "StoreSimulator", "Worker",
            ]
        ),
        .testTarget(
            name: "OrderIndependenceTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "Handlers", "Inbox", "InboxTesting", "Ledger", "LedgerStore", "LivesTesting",
                "Postgres", "PostgresTesting", "Randomness", "StoreSimulator", "Worker", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "PgBouncerTests",
            dependencies: [
                "AppStore", "EndToEndTesting", "HTTPServing", "HTTPServingTesting", "Inbox", "InboxTesting", "Postgres", "PostgresTesting",
                "PrivateCluster", "ShopAPI", "SignedTesting", "StoreSimulator", "Worker", "appstore-inbox", logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "PlanTests",
            dependencies: [
                "AppStore", "Inbox", "InboxTesting", "Ledger", "LedgerStore", "LedgerTesting", "OpenSSL", "Outbox", "Postgres",
                "PostgresTesting", logging,
            ]
        ),
        // A worker that marked bodies kill or hang.
        .executableTarget(
            name: "PoisonedWorker",
            dependencies: ["Inbox", "Postgres", "Worker", logging, serviceLifecycle, unixSignals],
            path: "Tests/PoisonedWorker"
        ),
        .testTarget(
            name: "PoisonTests",
            dependencies: ["InboxTesting", "PoisonedWorker", "Postgres", "PostgresTesting", "PrivateCluster"]
        ),
        .testTarget(name: "PostgresTests", dependencies: ["Randomness", "Postgres", "PostgresTesting", logging, serviceLifecycle]),
        .testTarget(name: "PrometheusTests", dependencies: ["Prometheus", "PrometheusTesting", "Randomness", metrics]),
        .testTarget(name: "SchemaTests", dependencies: ["InboxTesting", "SQL", "Postgres", "PostgresTesting", "PrivateCluster", "Schema"]),
        .testTarget(
            name: "ShopAPITests",
            dependencies: [
                "AppStore", "HTTPServing", "HTTPServingTesting", "Handlers", "InboxTesting", "OpenSSL", "Postgres", "PostgresTesting",
                "Schema", "ShopAPI", "StoreSimulator", httpTypes, logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "StoreSimulatorTests",
            dependencies: ["AppStore", "AppStoreVerification", "OpenSSL", "Randomness", "StoreSimulator"]
        ),
        .testTarget(
            name: "OutboxTests",
            dependencies: [
                "AppStore", "InboxTesting", "Ledger", "LedgerStore", "OpenSSL", "Outbox", "Postgres", "PostgresTesting", "Prometheus",
                "PrometheusTesting", "StoreSimulator", "StoreSimulatorServer", logging, nioCore, nioSSL, serviceLifecycle,
            ]
        ),
        .testTarget(name: "SystemdTests", dependencies: ["Systemd", logging]),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "AppStore", "Handlers", "Inbox", "InboxTesting", "Ledger", "Postgres", "PostgresTesting", "Randomness", "SignedTesting",
                "StoreSimulator", "Worker", logging,
            ]
        ),
    ]
)

for target in package.targets where target.type != .system {
    target.swiftSettings = [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .treatAllWarnings(as: .error),
    ]
}
