import Testing

@testable import HTTPServing

struct ListenAddressTests {
    @Test(arguments: [
        "127.0.0.1:8080", "0.0.0.0:0", "localhost:65535", "[::1]:8080", "unix:/run/appstore-inbox/ingest.sock",
    ])
    func `the description equals the parsed text`(text: String) throws {
        #expect(try ListenAddress(text).description == text)
    }

    @Test(arguments: [
        ("", "has no port"), ("127.0.0.1", "has no port"), ("127.0.0.1:", "port"), ("127.0.0.1:http", "port"), ("127.0.0.1:65536", "port"),
        ("127.0.0.1:-1", "port"), ("127.0.0.1:+1", "port"), (":8080", "has no host"), ("::1:8080", "brackets"), ("[]:8080", "brackets"),
        ("[::1]", "port"), ("unix:", "absolute"), ("unix:run/x", "absolute"), ("unix:/\(String(repeating: "x", count: 107))", "107"),
    ])
    func `an invalid address is refused with the reason`(text: String, reason: String) {
        let error = #expect(throws: ServerError.self) { try ListenAddress(text) }
        #expect(error?.code == .invalidAddress)
        #expect(error?.description.contains(reason) == true)
    }

    @Test(
        arguments: [
            ("unix:/a b\t", .unix(path: "/a b\t")), ("0.0.0.0:80", .tcp(host: "127.0.0.1", port: 80)),
            ("[::]:80", .tcp(host: "::1", port: 80)), ("10.0.0.0:80", .tcp(host: "10.0.0.0", port: 80)),
            ("[::1]:80", .tcp(host: "::1", port: 80)), ("127.0.0.1:0", nil),
        ] as [(String, ListenAddress.Reach?)]
    )
    func `a client on this machine reaches a listener`(text: String, reach: ListenAddress.Reach?) throws {
        #expect(try ListenAddress(text).reach == reach)
    }
}
