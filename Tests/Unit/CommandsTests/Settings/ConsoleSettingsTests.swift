import Foundation
import Testing

@testable import Commands

@Suite struct ConsoleSettingsTests {
    /// The mistakes in settings of the console; none where it could start.
    private func problems(_ flags: [String: String]) throws -> [String] {
        let reader = try SettingsReader(flags: ["database-url": "host=/nonexistent"].merging(flags) { $1 }, environment: [:])
        do throws(SettingsError) {
            _ = try ConsoleSettings(reader)
            return []
        } catch {
            return error.problems
        }
    }

    @Test func `without an address there is no console`() throws {
        let problems = try problems([:])
        #expect(problems.count == 1 && problems[0].hasPrefix("console-listen is missing: set APPSTORE_INBOX_CONSOLE_LISTEN"))
    }

    @Test(arguments: ["127.0.0.1:8079", "localhost:8079", "[::1]:8079", "127.1.2.3:0", "unix:/run/console.sock"])
    func `this machine and Unix sockets need no origin`(listen: String) throws {
        #expect(try problems(["console-listen": listen]) == [])
    }

    @Test(arguments: ["0.0.0.0:8079", "192.0.2.1:8079", "[::]:8079", "127.example.com:8079", "console:8079"])
    func `any other address needs an origin by https`(listen: String) throws {
        let problems = try problems(["console-listen": listen])
        #expect(problems.count == 1 && problems[0].contains("set APPSTORE_INBOX_CONSOLE_ORIGIN=https://"), "\(problems)")
        #expect(try self.problems(["console-listen": listen, "console-origin": "https://console.example.com"]) == [])
    }

    @Test(arguments: ["http://console.example.com", "https://", "https://a/b", "https://A.example", "https://a:443", "console.example.com"])
    func `an origin is https, a host and perhaps a port`(origin: String) throws {
        #expect(try problems(["console-listen": "127.0.0.1:1", "console-origin": origin]).count == 1)
    }

    @Test func `a proxy's word needs a Unix socket and a file of names`() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "users")
        try Data("alice operator\n".utf8).write(to: file)
        let header = ["console-trusted-header": "X-Forwarded-User"]
        let both = header.merging(["console-users-file": file.path]) { $1 }
        #expect(try problems(both.merging(["console-listen": "unix:/run/c.sock"]) { $1 }) == [])
        let tcp = try problems(both.merging(["console-listen": "127.0.0.1:1"]) { $1 })
        #expect(tcp.count == 1 && tcp[0].contains("use a Unix socket"), "\(tcp)")
        let alone = try problems(header.merging(["console-listen": "unix:/run/c.sock"]) { $1 })
        #expect(alone.count == 1 && alone[0].contains("need each other"), "\(alone)")
        try Data("alice admin\n".utf8).write(to: file)
        let wrong = try problems(both.merging(["console-listen": "unix:/run/c.sock"]) { $1 })
        #expect(wrong.count == 1 && wrong[0].contains("line 1"), "\(wrong)")
    }
}
