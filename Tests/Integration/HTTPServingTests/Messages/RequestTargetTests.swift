import Testing

@testable import HTTPServing

struct RequestTargetTests {
    @Test(
        arguments: [
            ("/", "/", nil), ("/a/b", "/a/b", nil), ("/a?", "/a", ""), ("/a?b=c?d", "/a", "b=c?d"), ("/a%3Fb", "/a%3Fb", nil),
            ("//x/a", "//x/a", nil), ("/http://x/a", "/http://x/a", nil), ("http://x/a?b", "/a", "b"), ("http://x", "/", nil),
            ("http://x?b", "/", "b"), ("HTTP://x:80/", "/", nil), ("*", "*", nil), ("x:443", "x:443", nil), ("", "/", nil),
        ] as [(String, String, String?)]
    )
    func `path and query are read from each form`(text: String, path: String, query: String?) {
        let target = RequestTarget(text)
        #expect((target.path, target.query) == (path, query))
    }
}
