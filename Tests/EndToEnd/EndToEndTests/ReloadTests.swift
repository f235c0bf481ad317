import AppStore
import EndToEndTesting
import Foundation
import Glibc
import OpenSSL
import StoreSimulator
import StrictJSON
import PostgresTesting
import Testing

extension EndToEnd {
    /// SIGHUP, at which a daemon reads its settings again.
    @Suite struct ReloadTests {
        @Test func `a worker takes apps, roots and log level without a restart, and names what needs one`() async throws {
            var (here, elsewhere) = (try Shop(), try Shop(bundleID: "com.example.other", seed: 2, authority: Shop.untrustedAuthority()))
            try await Installation.lend { installation in
                let file = SettingsFile(in: installation)
                let root = installation.folder.appending(path: "root.pem")
                try Data(here.authority.root.pem.utf8).write(to: root)
                let roots = "APPSTORE_INBOX_EXTRA_ROOTS=\(root.path):Production"
                try file.write("APPSTORE_INBOX_APPS=com.example.tides", roots, "APPSTORE_INBOX_LOG_LEVEL=warning")
                let ingest = try await installation.startIngest()
                let worker = try await installation.startWorker(["APPSTORE_INBOX_CONFIG": file.path])
                _ = try await ingest.client.post(here.body(here.purchases(1)[0]))
                _ = try await ingest.client.post(elsewhere.body(elsewhere.purchases(1)[0]))
                #expect(try await installation.sql.settled(2).map(\.reason) == [nil, "untrusted_root"])

                try Data((here.authority.root.pem + elsewhere.authority.root.pem).utf8).write(to: root)
                try file.write(
                    "APPSTORE_INBOX_APPS=com.example.tides,com.example.other",
                    roots,
                    "APPSTORE_INBOX_LOG_LEVEL=debug",
                    "APPSTORE_INBOX_CONCURRENCY=1"
                )
                try await worker.hangUp(until: "NOTICE: settings reloaded settings.changed=apps, extra-roots, log-level")
                try await worker.waits(for: "WARNING: changed settings need a restart settings.restart=concurrency")
                _ = try await ingest.client.post(elsewhere.body(elsewhere.purchases(1)[0]))
                #expect(try await installation.sql.settled(3).last?.outcome == "applied")
                try await worker.waits(for: "DEBUG: batch settled")
                #expect(try await worker.terminate() == .exit(0))
            }
        }

        @Test(arguments: ["APPSTORE_INBOX_APPS=", "APPSTORE_INBOX_APSS=com.example.tides", nil])
        func `settings that cannot be read leave the old ones in force`(line: String?) async throws {
            var shop = try Shop()
            try await Installation.lend { installation in
                let file = SettingsFile(in: installation)
                try file.write("APPSTORE_INBOX_APPS=com.example.tides")
                let ingest = try await installation.startIngest()
                let settings = [
                    "APPSTORE_INBOX_CONFIG": file.path, "APPSTORE_INBOX_EXTRA_ROOTS": try installation.rootPath(of: shop) + ":Production",
                ]
                let worker = try await installation.startWorker(settings)
                if let line { try file.write(line) } else { try FileManager.default.removeItem(atPath: file.path) }
                try await worker.hangUp(until: "ERROR: settings not reloaded, the old ones stay in force")
                #expect(worker.log.contains(file.path))
                _ = try await ingest.client.post(shop.body(shop.purchases(1)[0]))
                #expect(try await installation.sql.settled(1)[0].outcome == "applied")
                try file.write("APPSTORE_INBOX_APPS=com.example.tides")
                try await worker.hangUp(until: "NOTICE: settings reloaded settings.changed=none")
                #expect(try await worker.terminate() == .exit(0))
            }
        }

        @Test func `ingest takes a new shared secret without a restart, but not the first one`() async throws {
            var legacy = try LegacyShop()
            var life = legacy.shop.makeCustomer()
            _ = try life.subscribe()
            let bodies = try ["old", "new"].map { JSONSerializer.serialize(try legacy.notification(.initialBuy, of: life, password: $0)) }
            try await Installation.lend { installation in
                let folder = installation.folder.appending(path: "secrets")
                let file = folder.appending(path: legacy.shop.app.bundleID)
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                try Data("old".utf8).write(to: file)
                let settings = SettingsFile(in: installation)
                try settings.write("APPSTORE_INBOX_SHARED_SECRETS_DIRECTORY=\(folder.path)")
                let daemon = try await installation.startIngest(["APPSTORE_INBOX_CONFIG": settings.path])
                #expect(try await statuses(of: bodies, daemon) == [200, 401])
                try Data("new".utf8).write(to: file)
                try await daemon.daemon.hangUp(until: "NOTICE: settings reloaded settings.changed=shared-secrets")
                #expect(try await statuses(of: bodies, daemon) == [401, 200])
                try settings.write("")
                try await daemon.daemon.hangUp(until: "WARNING: changed settings need a restart settings.restart=shared-secrets")
                #expect(try await statuses(of: bodies, daemon) == [401, 200])
                #expect(!daemon.daemon.log.contains("\"new\""))
                _ = try await legacy.startWorker(in: installation)
                try await installation.sql.settled(3)
            }
        }

        private func statuses(of bodies: [[UInt8]], _ ingest: Ingest) async throws -> [Int] {
            var statuses: [Int] = []
            for body in bodies { statuses.append(try await ingest.client.postLegacy(body).status) }
            return statuses
        }
    }
}

/// A configuration file with a line for each setting.
private struct SettingsFile {
    let path: String

    init(in installation: Installation) {
        path = installation.folder.appending(path: "inbox.env").path
    }

    func write(_ lines: String...) throws {
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: path))
    }
}

extension Daemon {
    /// Sends SIGHUP and waits for a text in the log.
    fileprivate func hangUp(until text: String) async throws {
        signal(SIGHUP)
        try await waits(for: text)
    }

    fileprivate func waits(for text: String) async throws {
        try await eventually("\(command) logs \(text)") { log.contains(text) }
    }
}
