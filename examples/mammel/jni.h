// What Mark Mammel's player uses of the Java Native Interface: types, and calls back that do nothing here.
#pragma once

typedef int jint;
typedef int jsize;
typedef void *jobject, *jmethodID, *jintArray;

struct JNIEnv {
    void CallVoidMethod(jobject, jmethodID, ...) {}
    jintArray NewIntArray(jsize) { return nullptr; }
    void SetIntArrayRegion(jintArray, jsize, jsize, const jint *) {}
    void DeleteLocalRef(jobject) {}
};
