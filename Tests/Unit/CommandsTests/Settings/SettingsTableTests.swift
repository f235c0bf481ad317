import ArgumentParser
import Foundation
import Testing

@testable import Commands

@Suite struct SettingsTableTests {
    private func flags(_ options: (some SettingsOptions).Type, _ setting: SettingDescription, _ text: String) throws -> String? {
        try options.parse([setting.flag, text]).flags[setting.name]
    }

    @Test(arguments: Settings.all.map(\.name))
    func `each setting has a flag of its name`(name: String) throws {
        let setting = try #require(Settings.all.first { $0.name == name })
        if ["prepared", "shutdown-timeout"].contains(name) {
            #expect(try flags(DaemonOptions.self, setting, "x") == "x")
        } else if Settings.database.contains(where: { $0.name == name }) {
            #expect(try flags(DatabaseOptions.self, setting, "x") == "x")
        } else if Settings.log.contains(where: { $0.name == name }) {
            #expect(try flags(ServiceOptions.self, setting, "x") == "x")
        } else if Settings.ingest.contains(where: { $0.name == name }) {
            #expect(try flags(IngestOptions.self, setting, "x") == "x")
        } else if Settings.console.contains(where: { $0.name == name }) {
            #expect(try flags(ConsoleOptions.self, setting, "x") == "x")
        } else {
            #expect(try flags(WorkerOptions.self, setting, "x") == "x")
        }
    }

    @Test(arguments: Settings.all.map(\.name))
    func `each default is a valid value of its setting`(name: String) throws {
        let setting = try #require(Settings.all.first { $0.name == name })
        if let fallback = setting.fallback { try setting.validate(fallback) }
    }

    @Test func `the README of deploy names every setting and its default`() throws {
        let root = URL(filePath: #filePath).appending(path: "../../../../..").standardized
        let lines = try String(contentsOf: root.appending(path: "deploy/README.md"), encoding: .utf8).split(separator: "\n")
        for setting in Settings.all {
            let line = try #require(lines.first { $0.hasPrefix("| `\(setting.variable)` |") }, "\(setting.variable)")
            guard let fallback = setting.fallback, !fallback.isEmpty, setting.name != "concurrency" else { continue }
            #expect(line.contains("| `\(fallback)` |"), "\(setting.variable)")
        }
    }

    @Test func `variables are the names in capitals`() {
        #expect(Settings.adminListen.description.variable == "APPSTORE_INBOX_ADMIN_LISTEN")
        #expect(Settings.adminListen.description.flag == "--admin-listen")
        #expect(Set(Settings.all.map(\.variable)).count == Settings.all.count)
    }
}
