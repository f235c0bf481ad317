import AppStore
import AppStoreVerification
import HTTPServing
import OpenSSL
import StoreSimulator
import Testing

@testable import Commands

@Suite struct SettingValueTests {
    @Test func `apps are bundles with an optional number`() throws {
        #expect(try SettingValue.apps("com.example.a") == [App(bundleID: "com.example.a")])
        #expect(
            try SettingValue.apps("com.example.a:41234, com.Example-b.c")
                == [App(bundleID: "com.example.a", appAppleID: 41234), App(bundleID: "com.Example-b.c")]
        )
    }

    @Test(arguments: [
        "", ",", "com.example.a,", "com.example.a:", "com.example.a:x", "com.example.a:-1", "a:1:2", "com.example.*", "a b", "a,a:1",
        "1234567890", "com.example.a,1234567890",
    ])
    func `text that is not a list of apps is refused`(text: String) {
        #expect(throws: InvalidSettingValue.self) { try SettingValue.apps(text) }
    }

    @Test func `the address of an optional listener may be off`() throws {
        #expect(try SettingValue.addressOrOff("off") == nil)
        #expect(try SettingValue.addressOrOff("127.0.0.1:9091") == .tcp(host: "127.0.0.1", port: 9091))
        for text in ["", "Off", "127.0.0.1", "9091"] {
            #expect(throws: InvalidSettingValue.self, "\(text)") { try SettingValue.addressOrOff(text) }
        }
    }

    @Test func `only Production and Sandbox are environments, in Apple's spelling`() throws {
        #expect(try SettingValue.environments("Production,Sandbox") == [.production, .sandbox])
        #expect(try SettingValue.environments("Sandbox") == [.sandbox])
        for text in ["", "sandbox", "Xcode", "LocalTesting", "Production,", "Production Sandbox"] {
            #expect(throws: InvalidSettingValue.self, "\(text)") { try SettingValue.environments(text) }
        }
    }

    @Test func `an extra root is for Sandbox unless Production is named`() throws {
        #expect(try SettingValue.extraRoots("") == [])
        #expect(try SettingValue.extraRoots("/etc/a.pem") == [ExtraRoot(path: "/etc/a.pem", environments: [.sandbox])])
        #expect(
            try SettingValue.extraRoots("a.pem:Production+Sandbox,b.der:Production")
                == [
                    ExtraRoot(path: "a.pem", environments: [.production, .sandbox]), ExtraRoot(path: "b.der", environments: [.production]),
                ]
        )
        for text in [":Sandbox", "a.pem:", "a.pem:Production+", "a.pem:production", "a.pem,"] {
            #expect(throws: InvalidSettingValue.self, "\(text)") { try SettingValue.extraRoots(text) }
        }
    }

    @Test func `a root trusted for Production causes a warning`() throws {
        let folder = try TemporaryFolder()
        let root = try TestAuthority.generate(AuthorityOptions(around: .init(millisecondsSince1970: 1_735_689_600_000))).root.pem
        let (a, b) = (try folder.write("a.pem", root), try folder.write("b.pem", root))
        let flags = ["database-url": "host=/tmp", "apps": "a.b", "extra-roots": "\(a),\(b):Production"]
        let settings = try WorkerSettings(SettingsReader(flags: flags, environment: [:]))
        #expect(settings.warnings.count == 1)
        #expect(settings.warnings[0].contains("b.pem"))
    }

    @Test func `numbers outside their range are refused`() throws {
        let parse = SettingValue.integer(in: 1...64)
        #expect(try parse("64") == 64)
        for text in ["0", "65", "-1", "1.5", "", " 1", "99999999999999999999"] {
            #expect(throws: InvalidSettingValue.self, "\(text)") { try parse(text) }
        }
    }
}
