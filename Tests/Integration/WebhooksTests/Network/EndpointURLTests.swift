import HTTPRequesting
import Testing

@testable import Feed

struct EndpointURLTests {
    @Test(arguments: [
        ("https://example.com", true, "example.com", 443, "/", "example.com"),
        ("HTTPS://Example.COM:8443/a/b?c=%20d", true, "example.com", 8443, "/a/b?c=%20d", "example.com:8443"),
        ("https://example.com?x=1", true, "example.com", 443, "/?x=1", "example.com"),
        ("http://localhost:80/", false, "localhost", 80, "/", "localhost"),
        ("http://[::1]:3000/hook", false, "::1", 3000, "/hook", "[::1]:3000"),
        ("http://127.0.0.1/", false, "127.0.0.1", 80, "/", "127.0.0.1"),
        ("http://my_host.internal/", false, "my_host.internal", 80, "/", "my_host.internal"),
        ("https://8.8.8.8/", true, "8.8.8.8", 443, "/", "8.8.8.8"),
    ])
    func `a URL has its parts`(text: String, usesTLS: Bool, host: String, port: Int, target: String, authority: String) throws {
        let url = try EndpointURL(text)
        #expect(url.usesTLS == usesTLS && url.host == host && url.port == port)
        #expect(url.location.target == target && url.location.authority == authority)
    }

    @Test(arguments: [
        "", "example.com", "ftp://example.com/", "https://", "https:///x", "https://user@example.com/", "https://a:b@example.com/",
        "https://example.com/#x", "https://example.com:0/", "https://example.com:65536/", "https://example.com:x/", "https://example.com:/",
        "https://exa mple.com/", "https://example.com/\r\nX: y", "https://ex\\ample.com/", "https://bücher.example/", "https://[::1/",
        "https://[127.0.0.1]/", "https://[fe80::1%eth0]/", "https://a..b/", "https://.a/", "https://a./", "https://example.com/<x>",
        "http://8.8.8.8/", "http://[2606:4700::1111]/", "https://example.com:+443/", "https://example.com:４４３/",
        "http://127.1/", "http://2852039166/", "https://0xa9fea9fe/", "https://169.254.43518/", "https://0251.0376.0251.0376/",
        "https://example.0XA9/",
    ])
    func `another text is refused`(text: String) {
        #expect(throws: EndpointURLError.self) { try EndpointURL(text) }
    }

    @Test func `neither error nor description repeats what may be a secret`() throws {
        let error = #expect(throws: EndpointURLError.self) { try EndpointURL("https://hook:token@example.com/") }
        #expect(error?.description.contains("token") == false)
        #expect("\(try EndpointURL("https://example.com/token?key=token"))" == "https://example.com")
    }

    @Test(
        arguments: [
            ("http://proxy:3128", "proxy", 3128, nil), ("http://proxy:3128/", "proxy", 3128, nil),
            ("http://user:p%40ss@10.0.0.1:8080", "10.0.0.1", 8080, "Basic dXNlcjpwQHNz"), ("http://[::1]:3128", "::1", 3128, nil),
        ] as [(String, String, Int, String?)]
    )
    func `a proxy has host, port and credentials`(text: String, host: String, port: Int, authorization: String?) throws {
        let proxy = try #require(ProxyAddress(text))
        #expect(proxy.host == host && proxy.port == port && proxy.authorization == authorization)
        #expect(!"\(proxy)".contains("p" + "@ss") && !"\(proxy)".contains("user"))
    }

    @Test(arguments: [
        "proxy:3128", "https://proxy:3128", "http://proxy", "http://[::1]", "http://user@proxy:1", "http://proxy:1/x",
        "http://a:%zz@proxy:1", "", "http://127.1:3128",
    ])
    func `another text is no proxy`(text: String) {
        #expect(ProxyAddress(text) == nil)
    }

    @Test(
        arguments: [
            ("7", 7), ("0", 0), (" 12 ", 12), ("Thu, 01 Jan 1970 00:20:00 GMT", 200), ("Thursday, 01-Jan-70 00:20:00 GMT", 200),
            ("Thu Jan  1 00:20:00 1970", 200), ("Thu, 01 Jan 1970 00:00:10 GMT", -990), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_110_777),
            ("99999999999999999999", 3_155_760_000), ("-5", nil), ("soon", nil), ("", nil), ("1.5", nil),
            ("Thu, 01 Foo 1970 00:20:00 GMT", nil),
            ("Thu, 99 Jan 1970 00:20:00 GMT", nil),
        ] as [(String, Int64?)]
    )
    func `Retry-After is a number of seconds or a date`(text: String, seconds: Int64?) {
        #expect(RetryAfter.duration(text, now: 1000) == seconds.map { .seconds($0) })
    }
}
