// swift-tools-version: 6.2
import PackageDescription

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
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let serviceLifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")

let package = Package(
    name: "appstore-inbox",
    products: [.executable(name: "appstore-inbox", targets: ["appstore-inbox"])],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // System libraries, each with one importer.
        .systemLibrary(name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
        .target(name: "Postgres", dependencies: ["CLibPQ", logging, serviceLifecycle]),
        .target(name: "OpenSSL", dependencies: ["COpenSSL"]),

        // The schema, compiled into the program.
        .target(
            name: "Migrations",
            path: "sql",
            exclude: ["schema.sql"],
            sources: ["Migrations.swift"],
            resources: [.embedInCode("roles.sql"), .embedInCode("migrations")]
        ),
        .target(name: "Schema", dependencies: ["Migrations", "Postgres", logging]),

        // Apple's vocabulary, and what can be trusted of it.
        .target(name: "AppStore"),
        .target(name: "AppStoreVerification", dependencies: ["AppStore", "OpenSSL"]),

        // The queue, the books, and what events mean for them.
        .target(name: "Inbox", dependencies: ["Postgres", logging, metrics, serviceLifecycle]),
        .target(name: "Ledger", dependencies: ["AppStore", "OpenSSL"]),
        .target(name: "LedgerStore", dependencies: ["AppStore", "Ledger", "Postgres"]),
        .target(name: "Handlers", dependencies: ["AppStore", "AppStoreVerification", "Ledger"]),

        // The two daemons.
        .target(
            name: "HTTPServing",
            dependencies: ["AppStore", hummingbird, hummingbirdCore, httpTypes, logging, metrics, nioCore, nioHTTP1, serviceLifecycle]
        ),
        .target(
            name: "Ingest",
            dependencies: [
                "AppStore", "HTTPServing", "Inbox", hummingbird, httpTypes, logging, metrics, nioCore, nioPosix, serviceLifecycle,
            ]
        ),
        .target(
            name: "ShopAPI",
            dependencies: [
                "AppStore", "HTTPServing", "Handlers", "OpenSSL", "Postgres", hummingbird, httpTypes, logging, metrics, nioCore, nioPosix,
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

        // A make-believe App Store, and the program.
        .target(name: "Randomness"),
        .target(name: "StoreSimulator", dependencies: ["AppStore", "OpenSSL", "Randomness"]),
        .target(
            name: "Commands",
            dependencies: [
                "AppStore", "AppStoreVerification", "HTTPServing", "Handlers", "Inbox", "Ingest", "Ledger", "OpenSSL", "Postgres", "Schema",
                "ShopAPI", "StoreSimulator", "Systemd", "Worker", argumentParser, configuration, logging, nioCore, nioHTTP1, nioPosix,
                serviceLifecycle, unixSignals,
            ]
        ),
        .executableTarget(name: "appstore-inbox", dependencies: ["Commands"]),

        // Support for tests: a private cluster, databases with the schema in them, facts made by hand.
        .target(name: "PostgresTesting", dependencies: ["Postgres", logging], path: "Tests/PostgresTesting"),
        .target(name: "HTTPServingTesting", dependencies: [nioCore, nioPosix], path: "Tests/HTTPServingTesting"),
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

        .testTarget(name: "AppStoreTests", dependencies: ["Randomness", "AppStore"]),
        .testTarget(name: "AppStoreVerificationTests", dependencies: ["Randomness", "AppStore", "AppStoreVerification", "OpenSSL"]),
        .testTarget(
            name: "CommandsTests",
            dependencies: ["AppStore", "AppStoreVerification", "Commands", argumentParser, logging]
        ),
        .testTarget(
            name: "EndToEndTests",
            dependencies: ["AppStore", "OpenSSL", "Postgres", "PostgresTesting", "StoreSimulator", "appstore-inbox"]
        ),
        .testTarget(
            name: "HandlersTests",
            dependencies: ["AppStore", "AppStoreVerification", "Handlers", "Ledger", "SignedTesting", "StoreSimulator"]
        ),
        .testTarget(
            name: "HTTPServingTests",
            dependencies: ["AppStore", "HTTPServing", "HTTPServingTesting", "Randomness", logging, nioCore, nioEmbedded, nioHTTP1]
        ),
        .testTarget(name: "InboxIntakeTests", dependencies: ["Inbox", logging, serviceLifecycle]),
        .testTarget(
            name: "InboxTests",
            dependencies: ["Inbox", "InboxTesting", "Postgres", "PostgresTesting", logging, serviceLifecycle]
        ),
        .testTarget(
            name: "IngestTests",
            dependencies: [
                "HTTPServing", "HTTPServingTesting", "Inbox", "Ingest", "Migrations", "Postgres", "PostgresTesting", "Schema", logging,
                serviceLifecycle,
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
        .testTarget(name: "OpenSSLTests", dependencies: ["OpenSSL"]),
        .testTarget(name: "OperatorCommandsTests", dependencies: ["AppStore", "Commands", "Ledger", "Randomness"]),
        .testTarget(
            name: "OrderIndependenceTests",
            dependencies: [
                "AppStore", "AppStoreVerification", "Handlers", "Inbox", "InboxTesting", "Ledger", "LedgerStore", "LivesTesting",
                "Postgres", "PostgresTesting", "Randomness", "StoreSimulator", "Worker", logging, serviceLifecycle,
            ]
        ),
        .testTarget(name: "PostgresTests", dependencies: ["Randomness", "Postgres", "PostgresTesting", logging, serviceLifecycle]),
        .testTarget(name: "SchemaTests", dependencies: ["InboxTesting", "Migrations", "Postgres", "PostgresTesting", "Schema"]),
        .testTarget(
            name: "ShopAPITests",
            dependencies: [
                "AppStore", "HTTPServing", "HTTPServingTesting", "Handlers", "InboxTesting", "OpenSSL", "Postgres", "PostgresTesting",
                "Schema", "ShopAPI", httpTypes, logging, serviceLifecycle,
            ]
        ),
        .testTarget(
            name: "StoreSimulatorTests",
            dependencies: ["AppStore", "AppStoreVerification", "OpenSSL", "StoreSimulator"]
        ),
        .testTarget(name: "SystemdTests", dependencies: ["Systemd", logging]),
        .testTarget(
            name: "WorkerTests",
            dependencies: [
                "AppStore", "Handlers", "Inbox", "InboxTesting", "Ledger", "Postgres", "PostgresTesting", "SignedTesting",
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
