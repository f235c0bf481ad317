import AppStore
import AppStoreVerification
import Testing

struct SharedSecretsTests {
    private let secrets = SharedSecrets(["a.app": ["new", "old"], "b.app": ["other"], "c.app": [], "d.app": [""]])

    private func authenticate(_ members: String) throws -> SharedSecrets.AuthenticationResult {
        secrets.authenticate(try NotificationV1Body(Array(#"{"notification_type":"X"\#(members)}"#.utf8)))
    }

    @Test(arguments: [#""new""#, #""old""#, #""\u006eew""#])
    func `each secret of the app is accepted`(password: String) throws {
        #expect(try authenticate(#","bid":"a.app","password":\#(password)"#) == .authentic)
    }

    @Test(arguments: [
        "", #","password":"""#, #","password":"ne""#, #","password":"newer""#, #","password":"NEW""#, #","password":"other""#,
        #","password":null"#, #","password":["new"]"#, #","password":"new","password":"new""#, #","password":"new","password":1"#,
        #","password":1,"password":"new""#,
    ])
    func `anything else is wrong`(password: String) throws {
        #expect(try authenticate(#","bid":"a.app"\#(password)"#) == .wrong)
    }

    @Test(arguments: ["c.app", "d.app", "e.app", "A.APP"])
    func `an app without secrets is not configured`(app: String) throws {
        for password in ["new", "", "other"] {
            #expect(try authenticate(#","bid":"\#(app)","password":"\#(password)""#) == .notConfigured)
        }
    }

    @Test func `without an app any secret is accepted`() throws {
        for password in ["new", "old", "other"] { #expect(try authenticate(#","password":"\#(password)""#) == .authentic) }
        #expect(try authenticate(#","password":"neither""#) == .wrong)
        let none = SharedSecrets()
        #expect(none.isEmpty)
        #expect(none.authenticate(try NotificationV1Body(Array(#"{"notification_type":"X","password":""}"#.utf8))) == .notConfigured)
    }

    @Test func `secrets keep their order, and apps without secrets are omitted`() {
        #expect(secrets.secrets(of: "a.app") == ["new", "old"])
        #expect(secrets.secrets(of: "c.app") == [])
        #expect(secrets.counts == ["a.app": 2, "b.app": 1])
    }
}
