import AppStore
import AppStoreVerification
import Testing

struct SharedSecretsTests {
    private let secrets = SharedSecrets(["a.app": ["new", "old"], "b.app": ["other"], "c.app": [], "d.app": [""]])

    private func judgement(_ members: String) throws -> SharedSecrets.Judgement {
        secrets.judge(try NotificationV1Body(Array(#"{"notification_type":"X"\#(members)}"#.utf8)))
    }

    @Test(arguments: [#""new""#, #""old""#, #""\u006eew""#])
    func `each secret of the app is taken`(password: String) throws {
        #expect(try judgement(#","bid":"a.app","password":\#(password)"#) == .authentic)
    }

    @Test(arguments: [
        "", #","password":"""#, #","password":"ne""#, #","password":"newer""#, #","password":"NEW""#, #","password":"other""#,
        #","password":null"#, #","password":["new"]"#, #","password":"new","password":"new""#, #","password":"new","password":1"#,
        #","password":1,"password":"new""#,
    ])
    func `anything else is wrong`(password: String) throws {
        #expect(try judgement(#","bid":"a.app"\#(password)"#) == .wrong)
    }

    @Test(arguments: ["c.app", "d.app", "e.app", "A.APP"])
    func `of an app without secrets nothing can be said`(app: String) throws {
        for password in ["new", "", "other"] {
            #expect(try judgement(#","bid":"\#(app)","password":"\#(password)""#) == .notConfigured)
        }
    }

    @Test func `where no app is named any secret will do`() throws {
        for password in ["new", "old", "other"] { #expect(try judgement(#","password":"\#(password)""#) == .authentic) }
        #expect(try judgement(#","password":"neither""#) == .wrong)
        let none = SharedSecrets()
        #expect(none.isEmpty)
        #expect(none.judge(try NotificationV1Body(Array(#"{"notification_type":"X","password":""}"#.utf8))) == .notConfigured)
    }

    @Test func `the one to ask with comes first, and apps without any are not there`() {
        #expect(secrets.secrets(of: "a.app") == ["new", "old"])
        #expect(secrets.secrets(of: "c.app") == [])
        #expect(secrets.counts == ["a.app": 2, "b.app": 1])
    }
}
