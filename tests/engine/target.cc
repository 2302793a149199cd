/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A C++ program for the fork-server client: templates, exceptions, virtual calls and the library's containers, which inline into
 * the program and are instrumented with it. Persistent, the test case in shared memory.
 */
#include <cstddef>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <unistd.h>

__AFL_FUZZ_INIT();

namespace
{

struct Node {
    virtual ~Node() = default;
    virtual long value() const = 0;
};

template <typename T> struct Leaf : Node {
    explicit Leaf(T v) : v_(v)
    {
    }
    long value() const override
    {
        return v_ > 0 ? static_cast<long>(v_) : -1;
    }
    T v_;
};

struct Sum : Node {
    long value() const override
    {
        long n = 0;

        for (const auto &p : parts)
            n += p->value();
        return n;
    }
    std::vector<std::unique_ptr<Node>> parts;
};

std::unique_ptr<Node> parse(const std::string &s, size_t &at, int depth)
{
    if (depth > 20)
        throw std::length_error("deep");
    if (at >= s.size())
        throw std::out_of_range("end");
    if (s[at] == '(') {
        auto sum = std::make_unique<Sum>();

        for (at++; at < s.size() && s[at] != ')';)
            sum->parts.push_back(parse(s, at, depth + 1));
        at++;
        return sum;
    }
    if (s[at] == '-')
        return std::make_unique<Leaf<short>>(static_cast<short>(-s[++at]));
    return std::make_unique<Leaf<int>>(s[at++]);
}

long one(const std::string &s)
{
    std::map<char, size_t> seen;
    size_t at = 0;

    for (char c : s)
        seen[c]++;
    try {
        return parse(s, at, 0)->value() + static_cast<long>(seen.size());
    } catch (const std::length_error &) {
        return -1;
    } catch (const std::out_of_range &) {
        return -2;
    }
}

volatile long sink;

} // namespace

int main()
{
    unsigned char *d;

    __AFL_INIT();
    d = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) {
        size_t n = static_cast<size_t>(__AFL_FUZZ_TESTCASE_LEN);

        sink = one(std::string(reinterpret_cast<char *>(d), n));
    }
    return 0;
}
